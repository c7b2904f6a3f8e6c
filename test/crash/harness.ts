import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { points } from '#test/support/faultProxy.ts'
import { faults, type Run, type Trigger, type Workload } from './runner.ts'

/** A fault at a point of a workload. */
export type Plan = Trigger & { readonly workload: { readonly name: string } }

/** The writes, the commits and the result of a workload without faults. */
export type Recording<S> = {
  readonly workload: Workload<S>
  readonly normal: Run
  /** For each cluster. */
  readonly signatures: readonly (readonly string[])[]
  readonly commits: readonly string[]
}

/** A writer that can be killed at a planned point, with its servers. */
type Worker<S> = {
  runWorkload(workload: Workload<S>, trigger?: Trigger): Promise<Run>
  resync(): Promise<string[]>
  close(): Promise<void>
}

/** A plan and the failure after it, if any. */
export type Outcome = { readonly plan: Plan; readonly failure: string | undefined }

const recordings = 3
/** The runs without faults of a race. There are more, because writes that come in some orders only get no plans. */
const raceRecordings = 8
/** The attempts of a plan. A run whose trigger did not fire proves nothing and is repeated. */
const attempts = 5

/** Returns the title of a plan: `workload x write x point`. */
export const titleOf = ({ workload, target, signature, point, fault }: Plan): string => {
  const place = target === 'database' || target === 0 ? '' : ` in cluster ${target + 1}`
  return `${workload.name} x ${signature}${place} x ${point}${fault === 'cut' ? ' (cut)' : ''}`
}

/** Returns a plan for every point of every recorded write, and for every fault at every point of every recorded commit. */
export const plansOf = <S>({ workload, signatures, commits }: Recording<S>): Plan[] => [
  ...signatures.flatMap((ofCluster, target) =>
    ofCluster.flatMap((signature) =>
      points.map((point) => ({ workload, target, signature, point, fault: 'kill' as const })),
    ),
  ),
  ...commits.flatMap((signature) =>
    points.flatMap((point) =>
      faults.map((fault) => ({ workload, target: 'database' as const, signature, point, fault })),
    ),
  ),
]

/** Writes that are the same in all workloads, so that testing them in a few is enough. */
const common =
  / (events|namespaces|networkpolicies|rolebindings|resourcequotas|limitranges|serviceaccounts|\w+accessreviews) /

/**
 * The commits that come from time to time: of the cluster's newest version, and of resources of other runs that are compared again and
 * are as they were.
 */
const periodic = /^commit (update cluster_states|insert deployments, update deployments) #/

/** The claims of pushes. There is one a second also without pushes, so only the first ones come in each run. */
const claim = /^commit update cluster_outbox #/
const maxClaims = 2

/** The number of equal writes of a run that have plans. Further ones are retries, such as those while a namespace ends. */
const maxRepeats = 8
const isRetry = (signature: string): boolean =>
  Number(/ #(\d+)$/.exec(signature)?.[1]) > (claim.test(signature) ? maxClaims : maxRepeats)

/** Creates workers, each with its own writer, that share the plans. */
export const createHarness = async <S>(
  count: number,
  createWorker: (number: number, cacheDir: string) => Promise<Worker<S>>,
) => {
  const workers: Worker<S>[] = []
  const cacheDir = mkdtempSync(join(tmpdir(), 'orrery-crash-'))
  for (let number = 0; number < count; number += 1) workers.push(await createWorker(number, cacheDir))
  return {
    /**
     * Runs the workload without faults, several times. Throws if the results differ, since then a difference after a fault
     * proves nothing.
     */
    record: async (workload: Workload<S>): Promise<Recording<S>> => {
      const length = workload.isRace === true ? raceRecordings : recordings
      const runs = await eachOf(workers, Array.from({ length }), (worker) => worker.runWorkload(workload))
      const [normal, ...others] = runs
      if (normal === undefined) throw new Error('nothing was recorded')
      for (const other of others) {
        const difference = differenceOf(normal, other)
        if (difference !== undefined) {
          throw new Error(`${workload.name}: two runs without faults differ: ${difference}`)
        }
      }
      const wanted = (signature: string): boolean => workload.everyWrite === true || !common.test(signature)
      // Some writes depend on time, such as those of a heartbeat.
      const stable = (of: (run: Run) => readonly string[]): string[] => [
        ...new Set(of(normal).filter((each) => others.every((other) => of(other).includes(each)) && !isRetry(each))),
      ]
      const signatures = normal.signatures.map((_, at) => stable((run) => run.signatures[at] ?? []).filter(wanted))
      return {
        workload,
        normal,
        signatures,
        commits: stable((run) => run.commits).filter((each) => !periodic.test(each)),
      }
    },
    /** Runs the plans. Calls `onOutcome` after each. */
    run: (recording: Recording<S>, plans: readonly Plan[], onOutcome: (outcome: Outcome) => void): Promise<Outcome[]> =>
      eachOf(workers, plans, async (worker, plan) => {
        const outcome = { plan, failure: await failureOf(worker, plan, recording) }
        onOutcome(outcome)
        return outcome
      }),
    /** Restarts all writers twice. Returns the writes that these resyncs caused. */
    resync: async (): Promise<string[]> => (await allOf(workers.map((worker) => worker.resync()))).flat(),
    close: async (): Promise<void> => {
      await allOf(workers.map((worker) => worker.close()))
      rmSync(cacheDir, { recursive: true, force: true })
    },
  }
}

const failureOf = async <S>(
  worker: Worker<S>,
  plan: Plan,
  { workload, normal }: Recording<S>,
): Promise<string | undefined> => {
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    try {
      const run = await worker.runWorkload(workload, plan)
      if (!run.fired) continue
      return run.violations.length > 0 ? run.violations.join(', ') : differenceOf(normal, run)
    } catch (error) {
      return messageOf(error)
    }
  }
  return `invalid: the write did not come in ${attempts} runs`
}

/** Returns the messages of an error and its causes in one line. */
const messageOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  return error.cause === undefined ? error.message : `${error.message}: ${messageOf(error.cause)}`
}

const differenceOf = (normal: Run, run: Run): string | undefined => {
  if (run.counts !== normal.counts) return `expected ${inLine(normal.counts)}; got ${inLine(run.counts)}`
  if (run.endState === normal.endState) return undefined
  const expected = normal.endState.split('\n')
  const got = run.endState.split('\n')
  const missing = expected.filter((line) => !got.includes(line))
  const extra = got.filter((line) => !expected.includes(line))
  return `another end: expected ${inLine(missing.join('\n'))}; got ${inLine(extra.join('\n'))}`
}

const inLine = (lines: string): string => lines.replaceAll(/\s*\n\s*/g, ', ').trim() || 'nothing'

/** Gives each item to the next free worker. Returns the results in the order of the items. */
const eachOf = async <W, T, R>(
  workers: readonly W[],
  items: readonly T[],
  work: (worker: W, item: T) => Promise<R>,
): Promise<R[]> => {
  const results: R[] = []
  const left = items.map((item, index) => ({ item, index }))
  await allOf(
    workers.map(async (worker) => {
      for (let next = left.shift(); next !== undefined; next = left.shift()) {
        results[next.index] = await work(worker, next.item)
      }
    }),
  )
  return results
}

/** Like Promise.all, but rejects only when all promises have settled, so that workers are idle when they are closed. */
const allOf = async <T>(promises: readonly Promise<T>[]): Promise<T[]> => {
  await Promise.allSettled(promises)
  return Promise.all(promises)
}
