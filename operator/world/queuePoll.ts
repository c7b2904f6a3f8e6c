import type { Clock, Timer } from '#shared/clock.ts'
import type { WorldQueue } from '#shared/resources/world.ts'
import type { AskServer } from './askServer.ts'

/** A server that is asked how many are inside and how many wait. */
export type PolledServer = {
  readonly podUid: string
  readonly host: string
  /** What the world's status says already. */
  readonly known: WorldQueue | undefined
}

/** Asks the servers of Active worlds, each at its own pace. */
export type QueuePoll = {
  /** Asks this server from now on; a server that is asked already goes on as it was. */
  follow(key: string, server: PolledServer): void
  forget(key: string): void
  /** What that pod last reported, if it did. */
  report(key: string, podUid: string): WorldQueue | undefined
  /** Ends all asking for good. */
  stop(): void
}

/** How a poll paces itself; durations in milliseconds. */
export type QueuePollTiming = {
  readonly intervalMs: number
  /** The wait after answers that never came doubles up to this. */
  readonly longestMs: number
  readonly timeoutMs: number
  /** How many servers are asked at a time, over all worlds. */
  readonly parallel: number
  /** The same of those that gave no answer last time: however many they are, they delay nobody and cost little. */
  readonly parallelRetries: number
}

const defaultTiming: QueuePollTiming = {
  intervalMs: 5_000,
  longestMs: 300_000,
  timeoutMs: 2_000,
  parallel: 32,
  parallelRetries: 4,
}
const healthPort = 8080
const urlOf = (host: string): string => `http://${host.includes(':') ? `[${host}]` : host}:${healthPort}/readyz`

type Polled = PolledServer & {
  failures: number
  reported: WorldQueue | undefined
  timer: Timer | undefined
  /** Ends the asking that is under way. */
  stop: AbortController | undefined
}

/**
 * A poll of `GET /readyz` on port 8080. `changed` is called when a server's numbers are not those it reported before, so
 * at most once an interval a world. A server that gives no usable answer is asked ever more rarely.
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
  const turns = createTurns(timing.parallel)
  const retries = createTurns(timing.parallelRetries)

  const schedule = (key: string, server: Polled, delayMs: number): void => {
    server.timer = clock.setTimeout(() => {
      const { take } = server.failures === 0 ? turns : retries
      take(async () => {
        if (servers.get(key) === server) await poll(key, server)
      })
    }, delayMs)
  }
  const poll = async (key: string, server: Polled): Promise<void> => {
    const stop = new AbortController()
    const late = clock.setTimeout(() => stop.abort(), timing.timeoutMs)
    server.stop = stop
    const now = await options.ask(urlOf(server.host), stop.signal)
    late.cancel()
    if (servers.get(key) !== server) return
    server.failures = now === undefined ? server.failures + 1 : 0
    const before = server.reported ?? server.known ?? { active: 0, queued: 0 }
    if (now !== undefined) server.reported = now
    schedule(key, server, Math.min(timing.intervalMs * 2 ** Math.min(server.failures, 20), timing.longestMs))
    if (now !== undefined && (now.active !== before.active || now.queued !== before.queued)) options.changed(key)
  }
  const forget = (key: string): void => {
    const server = servers.get(key)
    servers.delete(key)
    server?.timer?.cancel()
    server?.stop?.abort()
  }
  return {
    follow: (key, server) => {
      const present = servers.get(key)
      if (present?.podUid === server.podUid && present.host === server.host) return
      forget(key)
      const polled = { ...server, failures: 0, reported: undefined, timer: undefined, stop: undefined }
      servers.set(key, polled)
      // Servers that are taken up together, as after a restart, are not to be asked together for ever.
      schedule(key, polled, random() * timing.intervalMs)
    },
    forget,
    report: (key, podUid) => {
      const server = servers.get(key)
      return server?.podUid === podUid ? server.reported : undefined
    },
    stop: () => {
      for (const key of [...servers.keys()]) forget(key)
    },
  }
}

/** Lets so many pieces of work run at a time, first come first served; work must not reject. */
const createTurns = (most: number) => {
  const queue: (() => Promise<void>)[] = []
  let running = 0
  const next = (): void => {
    const work = running < most ? queue.shift() : undefined
    if (work === undefined) return
    running += 1
    void work().then(() => {
      running -= 1
      next()
    })
  }
  return {
    take: (work: () => Promise<void>): void => {
      queue.push(work)
      next()
    },
  }
}
