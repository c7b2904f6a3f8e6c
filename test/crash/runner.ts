import { setTimeout as delay } from 'node:timers/promises'
import { type createFaultProxy, effective, type Point, type Write } from '#test/support/faultProxy.ts'

/** Twice the longest backoff of the processes that tests start. */
const quietMs = 1_000
const quietLimitMs = 60_000
const pollMs = 50

/** What users do, from nothing; it ends once what they wanted is there. */
export type Workload<S> = {
  readonly name: string
  readonly run: (fixture: S) => Promise<unknown>
  /** Whether the writer dies also at the writes that are alike in all workloads: events, and what a namespace needs. */
  readonly everyWrite?: boolean
}

/** What a workload plays in: a namespace of its own. */
type AnyFixture = {
  readonly namespace: string
  /** Waits until what the last write of a user asked for is seen to be there. */
  settled(): Promise<unknown>
  /** All that is left, without what is another at each run: instants, uids, versions. */
  endState(): Promise<string>
  /** What belongs to nobody that is there. */
  orphans(): Promise<string[]>
}

/** What a run of a workload came to. */
export type Run = {
  readonly endState: string
  /** The signatures of the effective writes, in order. */
  readonly signatures: readonly string[]
  /** How often each object was created and deleted, a line each. */
  readonly counts: string
  readonly orphans: readonly string[]
  /** Whether the writer died where it should, once. */
  readonly fired: boolean
}

type Writer<S extends AnyFixture> = {
  /** Between the writer and the API server. */
  readonly proxy: Awaited<ReturnType<typeof createFaultProxy>>
  /** Kills the writer, and starts another one once it is gone and `mend` was called. */
  restart(mend: () => void): Promise<void>
  /** How much work waits. */
  depth(): Promise<number>
  createFixture(): Promise<S>
  /** What others write in a namespace because of the writer. */
  consequences?(namespace: string): readonly Write[]
}

/** Plays workloads with a writer that dies where it is told, and says what they came to. */
export const createRunner = <S extends AnyFixture>(writer: Writer<S>) => {
  const { proxy } = writer
  /** The namespaces of runs that are over, with how many writes each had. */
  const over = new Map<string, number>()
  const restart = (): Promise<void> => writer.restart(proxy.mend)
  const writesIn = (namespace: string): Write[] => [
    ...proxy.writes(namespace),
    ...(writer.consequences?.(namespace) ?? []),
  ]
  /** Waits until nothing is left to do and nothing was written for the quiet time, from now on. */
  const quiet = async (writes: () => readonly Write[]): Promise<void> => {
    const fromMs = performance.now()
    while (performance.now() < fromMs + quietLimitMs) {
      const lastMs = writes().reduce((last, { atMs }) => Math.max(last, atMs), fromMs)
      const restMs = lastMs + quietMs - performance.now()
      // A process that has just died has nothing to say.
      if (restMs <= 0 && (await writer.depth().catch(() => 0)) === 0) return
      await delay(Math.max(restMs, pollMs))
    }
    throw new Error(`the writer did not come to rest in ${quietLimitMs} ms`)
  }
  const runWorkload = async (workload: Workload<S>, trigger?: { signature: string; point: Point }): Promise<Run> => {
    const fixture = await writer.createFixture()
    const { namespace } = fixture
    const quietHere = (): Promise<void> => quiet(() => writesIn(namespace))
    const died = Promise.withResolvers<void>()
    let fired = false
    const act = (): void => {
      fired = true
      died.resolve()
    }
    if (trigger) proxy.arm({ ...trigger, namespace, act })
    const restarted = died.promise.then(restart)
    // Whether the writer dies at all is known only once everything else is over.
    restarted.catch(() => undefined)
    await workload.run(fixture)
    // The last writes may follow what the workload waited for, and the writer may die at them.
    if (!fired) await quietHere()
    proxy.disarm()
    if (fired) {
      await restarted
      await quietHere()
    }
    await fixture.settled()
    over.set(namespace, writesIn(namespace).length)
    return {
      endState: await fixture.endState(),
      signatures: effective(proxy.writes(namespace)).map(({ signature }) => signature),
      counts: countsOf(effective(writesIn(namespace))),
      orphans: await fixture.orphans(),
      fired,
    }
  }
  return {
    runWorkload,
    /** Restarts the writer twice, each a full list and a look at everything; what was written then, a line each. */
    resync: async (): Promise<string[]> => {
      for (let round = 0; round < 2; round += 1) {
        await restart()
        await quiet(proxy.writes)
      }
      return [...over].flatMap(([namespace, before]) =>
        writesIn(namespace)
          .sort((a, b) => a.atMs - b.atMs)
          .slice(before)
          .map(({ signature }) => `${namespace}: ${signature}`),
      )
    },
  }
}

/** The sum of the gauges whose lines match, as a process serves them. */
export const metricOf = async (url: string, ...patterns: readonly RegExp[]): Promise<number> => {
  const text = await (await fetch(url)).text()
  const values = patterns.flatMap((pattern) => [...text.matchAll(pattern)].map(([, value]) => Number(value)))
  return values.reduce((sum, value) => sum + value, 0)
}

/** Keys that wait, and reconciles under way. */
export const busy = [/^workqueue_depth\{.*\} (\d+)$/gm, /^controller_runtime_active_workers\{.*\} (\d+)$/gm] as const

/** Created and deleted objects; events are told once, or not at all, and count for nothing. */
const countsOf = (writes: readonly Write[]): string => {
  const counts = new Map<string, number>()
  for (const { verb, resource, name } of writes) {
    if (resource === 'events' || !['create', 'delete'].includes(verb)) continue
    const key = `${verb} ${resource} ${name}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return [...counts]
    .map(([key, count]) => `${key}: ${count}`)
    .sort()
    .join('\n')
}
