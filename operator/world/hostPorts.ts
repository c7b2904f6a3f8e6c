import { type Pod, runIdOf } from '#operator/pods/pod.ts'
import { type HostPorts, rangeOf } from '#shared/domain/hostPorts.ts'
import { healthPort, publicPorts } from '#shared/domain/ports.ts'
import type { WorldRun } from '#shared/resources/world.ts'

/** The run that host ports are for. */
type PortRun = Pick<WorldRun, 'id' | 'ports'>

/** The host ports of the world of one reconcile. */
export type OwnHostPorts = {
  /**
   * Returns the host port of each public port of a run and holds them for its pod. The same run gets the same ports until its pod is
   * replaced for them. Returns fewer if a range does not have enough.
   */
  readonly allot: (run: PortRun) => readonly number[]
  /** Returns the nodes where other worlds use one of these ports, by default those of the world. */
  readonly nodesInUse: (ports?: readonly number[]) => ReadonlySet<string>
  /** Returns the number of pods of the run that were replaced for their host ports. */
  readonly replaced: (runId: string) => number
}

/** The host ports that the servers of all worlds use, by the key of the world (`namespace/name`). */
export type HostPortUse = {
  /** Records the pod of the world, or with undefined that it has none. */
  observe(key: string, pod: Pod | undefined): void
  /** Records that a pod of the run is replaced, because no node has its host ports. */
  replace(key: string, runId: string, pod: Pod): void
  /** Forgets a world that is gone. */
  forget(key: string): void
  of(key: string): OwnHostPorts
}

type Held = { readonly numbers: readonly number[]; readonly nodeName?: string | undefined }
type History = { readonly runId: string; numbers: readonly number[]; readonly given: Set<number>; replaced: number }

/**
 * Creates the record of the host ports of servers, without any. The pods are the record, and the scheduler and the kubelet refuse a
 * port that is taken on a node. So nothing is written first, and nothing leaks: this only counts.
 *
 * A port may be used on several nodes. A new pod gets the port that the fewest pods use, among equals the one whose count changed
 * longest ago, because the players of an ended world may still send packets to its port.
 */
export const createHostPortUse = (hostPorts: HostPorts): HostPortUse => {
  const held = new Map<string, Held>()
  const histories = new Map<string, History>()
  /** The worlds that use each port. */
  const users = new Map<number, Set<string>>()
  /** The ports of each range by the number of their users, the one that has it longest first. */
  const queues = new Map(
    [...hostPorts].map(([name, intervals]) => [
      name,
      [
        new Set(
          intervals.flatMap(({ first, last }) => Array.from({ length: last - first + 1 }, (_, at) => first + at)),
        ),
      ],
    ]),
  )
  const queueOf = new Map([...queues.values()].flatMap((queue) => [...(queue[0] ?? [])].map((port) => [port, queue])))

  const hold = (key: string, next: Held): void => {
    const before = held.get(key)?.numbers ?? []
    for (const port of before) if (!next.numbers.includes(port)) setUser(key, port, false)
    for (const port of next.numbers) if (!before.includes(port)) setUser(key, port, true)
    if (next.numbers.length === 0) held.delete(key)
    else held.set(key, next)
  }
  const setUser = (key: string, port: number, isUser: boolean): void => {
    const keys = users.get(port) ?? new Set()
    const queue = queueOf.get(port)
    queue?.[keys.size]?.delete(port)
    if (isUser) keys.add(key)
    else keys.delete(key)
    if (keys.size === 0) users.delete(port)
    else users.set(port, keys)
    if (queue === undefined) return
    const level = queue[keys.size] ?? new Set()
    queue[keys.size] = level
    level.add(port)
  }
  const findLeastUsed = (range: string, isExcluded: (port: number) => boolean): number | undefined => {
    for (const level of queues.get(range) ?? []) {
      for (const port of level) if (!isExcluded(port)) return port
    }
    return undefined
  }
  const choose = ({ ports }: PortRun, given: ReadonlySet<number>): number[] => {
    const chosen: number[] = ports.flatMap(({ hostPort }) => hostPort ?? [])
    // The server listens on a port of the policy Passthrough, beside its other ports.
    const listened = [healthPort, ...ports.map(({ containerPort }) => containerPort)]
    const isTaken = (port: number): boolean => chosen.includes(port) || listened.includes(port)
    return publicPorts(ports).flatMap((each) => {
      const range = rangeOf(each)
      if (range === undefined) return each.hostPort ?? []
      const port =
        findLeastUsed(range, (candidate) => isTaken(candidate) || given.has(candidate)) ?? findLeastUsed(range, isTaken)
      if (port === undefined) return []
      chosen.push(port)
      return port
    })
  }
  const historyOf = (key: string, runId: string): History => {
    const known = histories.get(key)
    if (known?.runId === runId) return known
    const history = { runId, numbers: [], given: new Set<number>(), replaced: 0 }
    histories.set(key, history)
    return history
  }

  return {
    observe: (key, pod) => {
      const isOver = pod === undefined || pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'
      const numbers = isOver ? [] : hostPortsOf(pod)
      hold(key, { numbers, nodeName: pod?.spec?.nodeName })
      const runId = pod && runIdOf(pod)
      // After a restart of the operator, the pod is the only record.
      if (runId !== undefined && numbers.length > 0 && histories.get(key)?.runId !== runId) {
        histories.set(key, { runId, numbers, given: new Set(), replaced: 0 })
      }
    },
    replace: (key, runId, pod) => {
      const history = historyOf(key, runId)
      for (const port of hostPortsOf(pod)) history.given.add(port)
      history.numbers = []
      history.replaced += 1
    },
    forget: (key) => {
      hold(key, { numbers: [] })
      histories.delete(key)
    },
    of: (key) => ({
      allot: (run) => {
        const history = historyOf(key, run.id)
        if (history.numbers.length !== publicPorts(run.ports).length) history.numbers = choose(run, history.given)
        hold(key, { numbers: history.numbers })
        return history.numbers
      },
      nodesInUse: (ports = held.get(key)?.numbers ?? []) => {
        const others = ports.flatMap((port) => [...(users.get(port) ?? [])]).filter((other) => other !== key)
        return new Set(others.flatMap((other) => held.get(other)?.nodeName ?? []))
      },
      replaced: (runId) => (histories.get(key)?.runId === runId ? (histories.get(key)?.replaced ?? 0) : 0),
    }),
  }
}

/** Returns the host ports of a pod, each once. */
const hostPortsOf = ({ spec }: Pod): number[] => [
  ...new Set(spec?.containers?.flatMap(({ ports }) => ports?.flatMap(({ hostPort }) => hostPort ?? []) ?? [])),
]
