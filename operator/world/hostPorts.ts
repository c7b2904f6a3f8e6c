import { type Pod, runIdOf } from '#operator/pods/pod.ts'
import { type HostPorts, isFitting, rangeOf } from '#shared/domain/hostPorts.ts'
import { findHostPort, healthPort, podPorts, publicPorts, type WorldPort } from '#shared/domain/ports.ts'
import { controllerOf } from '#shared/kube/objects.ts'
import type { WorldRun } from '#shared/resources/world.ts'

/** The run that host ports are for. */
type PortRun = Pick<WorldRun, 'id' | 'ports'>

/** The host ports of the world of one reconcile. */
export type OwnHostPorts = {
  /**
   * Returns the host port of each public port of a run, and holds them for its pod: those of its last pod, unless that was replaced or
   * the run may not have them any more. Returns fewer if a range does not have enough.
   */
  readonly allot: (run: PortRun, nowMs: number) => readonly number[]
  /** Returns how many pods of the run this process has replaced since one had a node. */
  readonly replaced: (runId: string) => number
}

/** The host ports that the servers of all worlds use, by the key of the world (`namespace/name`). */
export type HostPortUse = {
  /** Records the pod of the world, or with undefined that it has none. */
  observe(key: string, pod: Pod | undefined): void
  /** Records that a pod of the run is replaced, because no node has its host ports. */
  replace(key: string, runId: string, pod: Pod, nowMs: number): void
  /** Forgets the run of a world that is gone. */
  forget(key: string): void
  of(key: string): OwnHostPorts
}

type NamedPort = { readonly name?: string; readonly hostPort?: number }
type History = {
  readonly runId: string
  last: readonly NamedPort[]
  replacedUid?: string | undefined
  replaced: number
}

/** The time for which a port that no node had is the last choice: a program that is not a world may use it. */
const refusedMs = 600_000

/**
 * Creates the record of the host ports of servers, without any. The pods are the record, and the scheduler and the kubelet refuse a
 * port that is taken on a node. So nothing is written first, and nothing leaks: this only counts.
 *
 * A port may be used on several nodes. A new pod gets the port that the fewest pods use, among equals the one whose count changed
 * longest ago, because the players of an ended world may still send packets to its port.
 */
export const createHostPortUse = (hostPorts: HostPorts): HostPortUse => {
  const held = new Map<string, readonly number[]>()
  const histories = new Map<string, History>()
  /** The time until which a port is the last choice, in epoch milliseconds. At most one entry for each port. */
  const refusedUntilMs = new Map<number, number>()
  const queues = createQueues(hostPorts)

  const hold = (key: string, next: readonly number[]): void => {
    const before = held.get(key) ?? []
    for (const port of before) if (!next.includes(port)) queues.count(port, -1)
    for (const port of next) if (!before.includes(port)) queues.count(port, 1)
    if (next.length === 0) held.delete(key)
    else held.set(key, next)
  }
  const choose = ({ ports }: PortRun, nowMs: number): number[] => {
    const chosen: number[] = ports.flatMap(({ hostPort }) => hostPort ?? [])
    return publicPorts(ports).flatMap((each) => {
      const range = rangeOf(each)
      if (range === undefined) return each.hostPort ?? []
      const listened = listenedBeside(each, ports)
      const isTaken = (port: number): boolean => chosen.includes(port) || listened.includes(port)
      const isRefused = (port: number): boolean => (refusedUntilMs.get(port) ?? 0) > nowMs
      const port =
        queues.findLeastUsed(range, (of) => isTaken(of) || isRefused(of)) ?? queues.findLeastUsed(range, isTaken)
      if (port === undefined) return []
      chosen.push(port)
      return port
    })
  }
  /** Returns the last host ports of a run that it may still have. */
  const findLast = ({ ports }: PortRun, last: readonly NamedPort[]): number[] =>
    publicPorts(ports).flatMap((each) => {
      const port = findHostPort(ports, each, last)
      return port !== undefined && isFitting(port, each, hostPorts) && !listenedBeside(each, ports).includes(port)
        ? port
        : []
    })
  const historyOf = (key: string, runId: string): History => {
    const known = histories.get(key)
    if (known?.runId === runId) return known
    const history: History = { runId, last: [], replaced: 0 }
    histories.set(key, history)
    return history
  }

  return {
    observe: (key, pod) => {
      const isOver = pod === undefined || pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'
      const present = isOver ? [] : namedPortsOf(pod)
      hold(key, [...new Set(present.flatMap(({ hostPort }) => hostPort ?? []))])
      const runId = pod && runIdOf(pod)
      if (pod === undefined || runId === undefined || present.length === 0 || controllerOf(pod)?.kind !== 'World')
        return
      const history = historyOf(key, runId)
      if (pod.metadata.uid !== history.replacedUid) history.last = present
      if (pod.spec?.nodeName !== undefined) history.replaced = 0
    },
    replace: (key, runId, pod, nowMs) => {
      const history = historyOf(key, runId)
      for (const { hostPort } of namedPortsOf(pod)) {
        if (hostPort !== undefined) refusedUntilMs.set(hostPort, nowMs + refusedMs)
      }
      history.last = []
      history.replacedUid = pod.metadata.uid
      history.replaced += 1
    },
    forget: (key) => void histories.delete(key),
    of: (key) => ({
      allot: (run, nowMs) => {
        const history = historyOf(key, run.id)
        const last = findLast(run, history.last)
        const numbers = last.length === publicPorts(run.ports).length ? last : choose(run, nowMs)
        history.last = podPorts(run.ports, numbers)
        hold(key, numbers)
        return numbers
      },
      replaced: (runId) => (histories.get(key)?.runId === runId ? (histories.get(key)?.replaced ?? 0) : 0),
    }),
  }
}

/** Creates the queues of the ports of each range: those with the same number of users, the one that has it longest first. */
const createQueues = (hostPorts: HostPorts) => {
  const counts = new Map<number, number>()
  const byRange = new Map(
    [...hostPorts].map(([name, intervals]) => [
      name,
      [
        new Set(
          intervals.flatMap(({ first, last }) => Array.from({ length: last - first + 1 }, (_, at) => first + at)),
        ),
      ],
    ]),
  )
  const queueOf = new Map([...byRange.values()].flatMap((queue) => [...(queue[0] ?? [])].map((port) => [port, queue])))
  return {
    count: (port: number, change: 1 | -1): void => {
      const before = counts.get(port) ?? 0
      counts.set(port, before + change)
      const queue = queueOf.get(port)
      if (queue === undefined) return
      queue[before]?.delete(port)
      queue[before + change] = (queue[before + change] ?? new Set()).add(port)
    },
    findLeastUsed: (range: string, isExcluded: (port: number) => boolean): number | undefined => {
      for (const level of byRange.get(range) ?? []) {
        for (const port of level) if (!isExcluded(port)) return port
      }
      return undefined
    },
  }
}

/** Returns the ports on which the server listens beside one of the policy Passthrough, where it listens on the host port. */
const listenedBeside = ({ policy }: WorldPort, ports: readonly WorldPort[]): number[] =>
  policy === 'Passthrough' ? [healthPort, ...ports.map(({ containerPort }) => containerPort)] : []

/** Returns the ports of a pod that have a host port. */
const namedPortsOf = ({ spec }: Pod): NamedPort[] =>
  spec?.containers?.flatMap(({ ports = [] }) => ports.filter(({ hostPort }) => hostPort !== undefined)) ?? []
