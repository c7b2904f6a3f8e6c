import type { Clock, Timer } from '#shared/clock.ts'
import { healthPort } from '#shared/domain/ports.ts'
import type { SharedQueue } from '#shared/fairQueue.ts'
import { namespaceOfKey } from '#shared/kube/pace.ts'
import type { WorldQueue } from '#shared/resources/world.ts'
import { createTurns } from '#shared/turns.ts'
import type { AskServer } from './askServer.ts'

/** A server whose queue is polled. */
export type PolledServer = {
  readonly podUid: string
  readonly host: string
  /** The number of players with which the world is full. */
  readonly capacity: number
  /** The queue in the world's status. */
  readonly recorded: WorldQueue | undefined
}

/** Polls the queues of the servers of Active worlds. */
export type QueuePoll = {
  /** Starts to poll a world's server. A poll of the same server continues. */
  start(key: string, server: PolledServer): void
  stop(key: string): void
  /** Returns the queue that the status is to show for that pod, if it has reported one. */
  report(key: string, podUid: string): WorldQueue | undefined
  /** Stops all polls for good. */
  close(): void
}

/** The timing of a poll, in milliseconds, and its limits. */
export type QueuePollTiming = {
  readonly intervalMs: number
  /** The interval grows fourfold up to this while a server does not respond. A longer interval stays as it is. */
  readonly maxIntervalMs: number
  /** The maximum number of requests per second to servers that respond, on average. With more of these, the interval is longer. */
  readonly maxPerSecond: number
  /** The maximum number of requests per second to servers that do not respond, on average. */
  readonly maxRetriesPerSecond: number
  readonly timeoutMs: number
  /** The minimum time between two reports, unless the world becomes full or empty or stops being so. */
  readonly writeMs: number
  /** The maximum number of concurrent requests, over all worlds. */
  readonly parallel: number
  /** The maximum number of concurrent requests to servers that did not respond to the last one. */
  readonly parallelRetries: number
}

const defaultTiming: QueuePollTiming = {
  intervalMs: 5_000,
  maxIntervalMs: 300_000,
  maxPerSecond: 200,
  maxRetriesPerSecond: 25,
  timeoutMs: 2_000,
  writeMs: 15_000,
  parallel: 32,
  parallelRetries: 4,
}
/** Polls that are due in the same slot share a timer, since one for each of 20,000 servers takes megabytes. */
const slotMs = 250
const urlOf = (host: string): string => `http://${host.includes(':') ? `[${host}]` : host}:${healthPort}/readyz`

type Polled = PolledServer & {
  readonly key: string
  failures: number
  /** The last report, and its time. */
  reported: WorldQueue | undefined
  reportedAtMs: number
  /** The slot of the next poll, which `createSchedule` sets. */
  slot: number
  /** Aborts the request in progress. */
  abort: AbortController | undefined
}

/**
 * Creates a poll of `GET /readyz` on the health port. `changed` is called when a server's numbers differ from the last
 * reported ones: at once if the world becomes or stops being full or empty, otherwise at most once in `writeMs`.
 */
export const createQueuePoll = (options: {
  ask: AskServer
  clock: Clock
  random: () => number
  changed: (key: string) => void
  timing?: Partial<QueuePollTiming>
}): QueuePoll => {
  const { clock, random } = options
  const timing = { ...defaultTiming, ...options.timing }
  const servers = new Map<string, Polled>()
  const requests = createPollTurns('readiness polls', timing.parallel)
  const retries = createPollTurns('readiness retries', timing.parallelRetries)
  const schedule = createSchedule<Polled>(clock, (server) => {
    const run = server.failures === 0 ? requests : retries
    void run(namespaceOfKey(server.key), () => poll(server))
  })
  let responding = 0

  const intervalMs = (): number => Math.max(timing.intervalMs, (responding * 1_000) / timing.maxPerSecond)
  const retryMs = (failures: number): number => {
    const backoffMs = Math.min(timing.intervalMs * 4 ** Math.min(failures, 10), timing.maxIntervalMs)
    const silent = servers.size - responding
    return Math.max(timing.intervalMs, backoffMs, (silent * 1_000) / timing.maxRetriesPerSecond)
  }
  const setFailures = (server: Polled, failures: number): void => {
    responding += Number(failures === 0) - Number(server.failures === 0)
    server.failures = failures
  }
  const isStopped = (server: Polled): boolean => servers.get(server.key) !== server
  const poll = async (server: Polled): Promise<void> => {
    if (isStopped(server)) return
    const abort = new AbortController()
    const timeout = clock.setTimeout(() => abort.abort(), timing.timeoutMs)
    server.abort = abort
    const now = await options.ask(urlOf(server.host), abort.signal)
    timeout.cancel()
    server.abort = undefined
    if (isStopped(server)) return
    setFailures(server, now === undefined ? server.failures + 1 : 0)
    schedule.add(server, server.failures === 0 ? intervalMs() : retryMs(server.failures))
    if (now === undefined || !isWorthReporting(server, now)) return
    server.reported = now
    server.reportedAtMs = clock.monotonic()
    options.changed(server.key)
  }
  const isWorthReporting = ({ reported, recorded, reportedAtMs, capacity }: Polled, now: WorldQueue): boolean => {
    const last = reported ?? recorded ?? { active: 0, queued: 0 }
    if (now.active === last.active && now.queued === last.queued) return false
    return levelOf(now, capacity) !== levelOf(last, capacity) || clock.monotonic() - reportedAtMs >= timing.writeMs
  }
  const stop = (key: string): void => {
    const server = servers.get(key)
    if (server === undefined) return
    servers.delete(key)
    if (server.failures === 0) responding -= 1
    schedule.remove(server)
    server.abort?.abort()
  }
  return {
    start: (key, server) => {
      const present = servers.get(key)
      if (present?.podUid === server.podUid && present.host === server.host) return
      stop(key)
      const reportedAtMs = clock.monotonic()
      const polled = { ...server, key, failures: 0, reported: undefined, reportedAtMs, slot: 0, abort: undefined }
      servers.set(key, polled)
      responding += 1
      // Polls that begin together, as after a restart, spread over the interval.
      schedule.add(polled, random() * intervalMs())
    },
    stop,
    report: (key, podUid) => {
      const server = servers.get(key)
      return server?.podUid === podUid ? server.reported : undefined
    },
    close: () => {
      for (const key of [...servers.keys()]) stop(key)
    },
  }
}

/** Returns the level of a queue. A change of the level is reported at once, because users wait for it. */
const levelOf = ({ active, queued }: WorldQueue, capacity: number): 'empty' | 'open' | 'full' => {
  if (active === 0 && queued === 0) return 'empty'
  return active >= capacity ? 'full' : 'open'
}

/** Calls `run` for each item when it is due, up to `slotMs` later. An item is in the schedule at most once. */
const createSchedule = <T extends { slot: number }>(clock: Clock, run: (item: T) => void) => {
  type Slot = { readonly timer: Timer; readonly due: Set<T> }
  const slots = new Map<number, Slot>()
  const open = (at: number): Slot => {
    const due = new Set<T>()
    const timer = clock.setTimeout(
      () => {
        slots.delete(at)
        for (const item of due) run(item)
      },
      at * slotMs - clock.monotonic(),
    )
    slots.set(at, { timer, due })
    return { timer, due }
  }
  return {
    add: (item: T, delayMs: number): void => {
      item.slot = Math.ceil((clock.monotonic() + delayMs) / slotMs)
      const { due } = slots.get(item.slot) ?? open(item.slot)
      due.add(item)
    },
    remove: (item: T): void => {
      const slot = slots.get(item.slot)
      slot?.due.delete(item)
      if (slot?.due.size !== 0) return
      slot.timer.cancel()
      slots.delete(item.slot)
    },
  }
}

/** Runs polls in the turns of their namespaces. Each server waits at most once, so their number is the limit. */
const createPollTurns = (name: SharedQueue, slots: number) => {
  const unlimited = { maxWaiting: Number.POSITIVE_INFINITY, maxWaitingOfOne: Number.POSITIVE_INFINITY }
  const runInTurn = createTurns(name, { slots, reserve: Math.ceil(slots / 4), ...unlimited })
  return (namespace: string, poll: () => Promise<void>) => runInTurn(namespace, poll, () => new Error('too many polls'))
}
