import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Point, points } from '#test/support/faultProxy.ts'
import type { Run, Workload } from './runner.ts'

/** A point at which the writer is killed: a write of a workload, and the point within it. */
export type Plan = { readonly workload: { readonly name: string }; readonly signature: string; readonly point: Point }

/** The writes and the result of a workload without faults. */
export type Recording<S> = {
  readonly workload: Workload<S>
  readonly normal: Run
  readonly signatures: readonly string[]
}

/** A writer that can be killed at a planned point, with its servers. */
type Worker<S> = {
  runWorkload(workload: Workload<S>, trigger?: { signature: string; point: Point }): Promise<Run>
  resync(): Promise<string[]>
  close(): Promise<void>
}

/** A plan, and what was wrong after it; undefined where nothing was. */
export type Outcome = Plan & { readonly fault: string | undefined }

const recordings = 3
/** A trigger that did not fire makes a run that says nothing, which is made again. */
const attempts = 5

/** `workload x write x point`. */
export const titleOf = ({ workload, signature, point }: Plan): string => `${workload.name} x ${signature} x ${point}`

/** Every point of every write that was recorded. */
export const plansOf = <S>({ workload, signatures }: Recording<S>): Plan[] =>
  signatures.flatMap((signature) => points.map((point) => ({ workload, signature, point })))

/** Writes that are alike in all workloads, so that few of them stand for all. */
const common = / (events|namespaces|networkpolicies|rolebindings|\w+accessreviews) /

/** Creates workers, each with its own writer, that share the plans. */
export const createHarness = async <S>(
  count: number,
  createWorker: (number: number, cacheDir: string) => Promise<Worker<S>>,
) => {
  const workers: Worker<S>[] = []
  const cacheDir = mkdtempSync(join(tmpdir(), 'orrery-crash-'))
  for (let number = 0; number < count; number += 1) workers.push(await createWorker(number, cacheDir))
  return {
    /** Runs the workload three times without faults. Its end must be the same each time, else it can prove nothing. */
    record: async (workload: Workload<S>): Promise<Recording<S>> => {
      const runs = await eachOf(workers, Array.from({ length: recordings }), (worker) => worker.runWorkload(workload))
      const [normal, ...others] = runs
      if (normal === undefined) throw new Error('nothing was recorded')
      for (const other of others) {
        const fault = differenceOf(normal, other)
        if (fault !== undefined) throw new Error(`${workload.name}: two runs without faults differ: ${fault}`)
      }
      const wanted = (signature: string): boolean => workload.everyWrite === true || !common.test(signature)
      const stable = normal.signatures.filter((each) => others.every(({ signatures }) => signatures.includes(each)))
      return { workload, normal, signatures: [...new Set(stable)].filter(wanted) }
    },
    run: (recording: Recording<S>, plans: readonly Plan[]): Promise<Outcome[]> =>
      eachOf(workers, plans, async (worker, plan) => ({ ...plan, fault: await faultOf(worker, plan, recording) })),
    /** Two further looks at everything that any plan left; what was written then. */
    resync: async (): Promise<string[]> => (await allOf(workers.map((worker) => worker.resync()))).flat(),
    close: async (): Promise<void> => {
      await allOf(workers.map((worker) => worker.close()))
      rmSync(cacheDir, { recursive: true, force: true })
    },
  }
}

const faultOf = async <S>(
  worker: Worker<S>,
  plan: Plan,
  { workload, normal }: Recording<S>,
): Promise<string | undefined> => {
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    try {
      const run = await worker.runWorkload(workload, plan)
      if (!run.fired) continue
      return run.orphans.length > 0 ? `orphans: ${run.orphans.join(', ')}` : differenceOf(normal, run)
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }
  return `invalid: the write did not come in ${attempts} runs`
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

/** Gives each item to the next worker that is free; the results are in the order of the items. */
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

/** As Promise.all, but nothing is still under way when it fails: a worker that is closed must be at rest. */
const allOf = async <T>(promises: readonly Promise<T>[]): Promise<T[]> => {
  await Promise.allSettled(promises)
  return Promise.all(promises)
}
