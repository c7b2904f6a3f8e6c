import { setTimeout as delay } from 'node:timers/promises'
import { type createFaultProxy, effective, type Point, type Write } from '#test/support/faultProxy.ts'
import type { createPostgresProxy } from '#test/support/postgres/proxy.ts'

/** Twice the longest backoff of the processes that tests start. */
const quietMs = 1_000
const quietLimitMs = 60_000
const pollMs = 50

/** A sequence of user actions that starts from nothing and ends when the result is visible. */
export type Workload<S> = {
  readonly name: string
  readonly run: (fixture: S) => Promise<unknown>
  /** The actions before `run`, at whose writes the writer is not killed. */
  readonly prepare?: (fixture: S) => Promise<unknown>
  /** Kills the writer also at writes that are the same in all workloads: events and namespace objects. */
  readonly everyWrite?: boolean
  /** API and operator act at the same time, so the numbers of revisions and generations depend on which is first. */
  readonly isRace?: boolean
}

/** The faults at a point: the writer is killed, or its connection is cut. A connection to the API server is not cut. */
export const faults = ['kill', 'cut'] as const

/** A write to one of the clusters or a commit, the point within it, and the fault. */
export type Trigger = {
  readonly target: number | 'database'
  readonly signature: string
  readonly point: Point
  readonly fault: (typeof faults)[number]
}

/** The fixture of a workload, in a namespace of its own. */
type AnyFixture = {
  readonly namespace: string
  /** Waits until the result of the last user action is visible. */
  settled(): Promise<unknown>
  /**
   * Returns the remaining objects without the parts that differ between runs: times, uids, versions. After a race it says of
   * revisions and generations only whether they are the newest.
   */
  endState(isRace: boolean): Promise<string>
  /** Returns what may never be, such as objects whose owner no longer exists. */
  violations(): Promise<string[]>
}

/** The result of a run of a workload. */
export type Run = {
  readonly endState: string
  /** The signatures of the effective writes to each cluster, in order. */
  readonly signatures: readonly (readonly string[])[]
  /** The signatures of the commits that change something, in order. Empty without a proxy before Postgres. */
  readonly commits: readonly string[]
  /** The number of creations and deletions of each object, one per line. */
  readonly counts: string
  readonly violations: readonly string[]
  /** True if the planned point was reached. */
  readonly fired: boolean
}

type Writer<S extends AnyFixture> = {
  /** The proxies between the writer and the API server of each cluster. */
  readonly proxies: readonly Awaited<ReturnType<typeof createFaultProxy>>[]
  /** The proxy between the writer and Postgres. */
  readonly database?: Awaited<ReturnType<typeof createPostgresProxy>>
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
  const { proxies, database } = writer
  /** The namespaces of finished runs, with the number of writes in each. */
  const over = new Map<string, number>()
  const restart = (): Promise<void> =>
    writer.restart(() => {
      for (const proxy of proxies) proxy.mend()
      database?.mend()
    })
  const writesIn = (namespace: string): Write[] => [
    ...proxies.flatMap((proxy) => proxy.writes(namespace)),
    ...(writer.consequences?.(namespace) ?? []),
  ]
  /** Waits until no work is left and the last write is older than the quiet time. */
  const quiet = async (writes: () => readonly Write[]): Promise<void> => {
    const fromMs = performance.now()
    while (performance.now() < fromMs + quietLimitMs) {
      const lastMs = writes().reduce((last, { atMs }) => Math.max(last, atMs), fromMs)
      const restMs = lastMs + quietMs - performance.now()
      // A process that was just killed does not respond.
      if (restMs <= 0 && (await writer.depth().catch(() => 0)) === 0) return
      await delay(Math.max(restMs, pollMs))
    }
    throw new Error(`the writer did not come to rest in ${quietLimitMs} ms`)
  }
  /** Arms the proxies. Resolves once the planned point was reached and the writer is restarted, if it was killed. */
  const arm = (namespace: string, trigger: Trigger | undefined) => {
    const reached = Promise.withResolvers<void>()
    const state = { fired: false }
    const act = (): void => {
      state.fired = true
      if (trigger?.fault === 'kill') {
        for (const proxy of proxies) proxy.sever()
        database?.sever()
      }
      reached.resolve()
    }
    database?.begin()
    if (trigger?.target === 'database') database?.arm({ ...trigger, act })
    else if (trigger !== undefined) proxies[trigger.target]?.arm({ ...trigger, namespace, act })
    const mended = reached.promise.then(() => (trigger?.fault === 'kill' ? restart() : undefined))
    // Awaited by the caller if the point was reached.
    mended.catch(() => undefined)
    const disarm = (): void => {
      for (const proxy of proxies) proxy.disarm()
      database?.disarm()
    }
    return { state, mended, disarm }
  }
  const runWorkload = async (workload: Workload<S>, trigger?: Trigger): Promise<Run> => {
    const fixture = await writer.createFixture()
    const { namespace } = fixture
    const quietHere = (): Promise<void> => quiet(() => writesIn(namespace))
    if (workload.prepare !== undefined) {
      await workload.prepare(fixture)
      await quietHere()
    }
    const prepared = proxies.map((proxy) => proxy.writes(namespace).length)
    const { state, mended, disarm } = arm(namespace, trigger)
    try {
      await workload.run(fixture)
      // The last writes may come after the result that the workload waited for, and the point may be at one of them.
      if (!state.fired) await quietHere()
    } finally {
      disarm()
      // Also after a failure, so that the next run has a writer.
      if (state.fired) await mended
    }
    if (state.fired) await quietHere()
    await fixture.settled()
    over.set(namespace, writesIn(namespace).length)
    return {
      endState: await fixture.endState(workload.isRace === true),
      signatures: proxies.map((proxy, at) =>
        effective(proxy.writes(namespace).slice(prepared[at])).map(({ signature }) => signature),
      ),
      commits: database?.commits() ?? [],
      counts: countsOf(effective(writesIn(namespace))),
      violations: await fixture.violations(),
      fired: state.fired,
    }
  }
  return {
    runWorkload,
    /**
     * Restarts the writer twice, which causes a full list and a reconcile of everything. Returns the signatures of the
     * resulting writes.
     */
    resync: async (): Promise<string[]> => {
      for (let round = 0; round < 2; round += 1) {
        await restart()
        await quiet(() => proxies.flatMap((proxy) => proxy.writes()))
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
