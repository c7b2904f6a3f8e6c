import { setTimeout as delay } from 'node:timers/promises'
import { type createFaultProxy, effective, type Point, type Write } from '#test/support/faultProxy.ts'

/** Twice the longest backoff of the processes that tests start. */
const quietMs = 1_000
const quietLimitMs = 60_000
const pollMs = 50

/** A sequence of user actions that starts from nothing and ends when the result is visible. */
export type Workload<S> = {
  readonly name: string
  readonly run: (fixture: S) => Promise<unknown>
  /** If true, the writer is also killed at writes that are the same in all workloads: events and namespace objects. */
  readonly everyWrite?: boolean
}

/** The fixture of a workload, in a namespace of its own. */
type AnyFixture = {
  readonly namespace: string
  /** Waits until the result of the last user action is visible. */
  settled(): Promise<unknown>
  /** Returns the remaining objects without the parts that differ between runs: times, uids, versions. */
  endState(): Promise<string>
  /** Returns the objects whose owner no longer exists. */
  orphans(): Promise<string[]>
}

/** The result of a run of a workload. */
export type Run = {
  readonly endState: string
  /** The signatures of the effective writes, in order. */
  readonly signatures: readonly string[]
  /** The number of creations and deletions of each object, one per line. */
  readonly counts: string
  readonly orphans: readonly string[]
  /** True if the writer was killed at the planned point. */
  readonly fired: boolean
}

type Writer<S extends AnyFixture> = {
  /** Between the writer and the API server. */
  readonly proxy: Awaited<ReturnType<typeof createFaultProxy>>
  /** Kills the writer, and starts another one once it is gone and `mend` was called. */
  restart(mend: () => void): Promise<void>
  /** Returns the number of waiting and running reconciles. */
  depth(): Promise<number>
  createFixture(): Promise<S>
  /** Returns the writes of others in a namespace that follow from the writer's. */
  consequences?(namespace: string): readonly Write[]
}

/** Creates a runner of workloads, which kills the writer at a planned point and returns the result. */
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
    // Handled below; the writer may also not be killed at all.
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

/** Counts created and deleted objects. Events do not count, since they are written at most once. */
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
