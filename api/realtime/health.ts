import type { Ending } from './ending.ts'

/** The server pings each client at this interval and closes the connection after `maxMisses` unanswered pings. */
const pingEveryMs = 30_000
const maxMisses = 2
/** A client that reads nothing is disconnected after this time, plus one second for each 64 KiB of buffered data. */
const drainMs = 5_000
const drainBytesPerMs = 64
/** The time a client has to answer a close frame before the socket is destroyed. */
const closeMs = 5_000
/** A connection without subscriptions is closed after this time. */
const idleMs = 600_000
/** The rate limit of messages and pings of one client. The burst lets a client renew all its subscriptions at once. */
export const messagesPerSecond = 50
const messageBurst = 256
const maxMalformed = 5

/** State for the health checks and the rate limit of one client. Times are monotonic milliseconds. */
export type ClientHealth = {
  pingedMs: number
  misses: number
  idleSinceMs: number
  endedMs: number
  /** The smallest number of buffered bytes since the client fell behind, and the time of that minimum. */
  leastBuffered: number
  leastSinceMs: number
  tokens: number
  tokensMs: number
  malformed: number
}

/** Returns the state of a new client. `jitter`, from 0 to 1, spreads the pings of clients that connect together. */
export const createHealth = (nowMs: number, jitter: number): ClientHealth => ({
  pingedMs: nowMs - jitter * pingEveryMs,
  misses: 0,
  idleSinceMs: nowMs,
  endedMs: 0,
  leastBuffered: Number.POSITIVE_INFINITY,
  leastSinceMs: nowMs,
  tokens: messageBurst,
  tokensMs: nowMs,
  malformed: 0,
})

/** Resets the count of unanswered pings. */
export const recordActivity = (health: ClientHealth): void => {
  health.misses = 0
}

/** Counts a message or a ping. Returns false when the client exceeds its rate limit. */
export const consumeToken = (health: ClientHealth, nowMs: number): boolean => {
  const refilled = health.tokens + ((nowMs - health.tokensMs) / 1000) * messagesPerSecond
  health.tokens = Math.min(messageBurst, refilled)
  health.tokensMs = nowMs
  if (health.tokens < 1) return false
  health.tokens -= 1
  return true
}

/** Counts a malformed message. Returns false when the client has sent too many. */
export const countMalformed = (health: ClientHealth): boolean => {
  health.malformed += 1
  return health.malformed <= maxMalformed
}

/** The next action for a client: nothing, a ping, a close with a close frame, or the end of the socket without one. */
export type HealthAction = { ping: true } | { close: Ending } | { terminate: Ending | undefined } | undefined

/** Decides the next action for one client. Call it about once a second. */
export const nextAction = (
  health: ClientHealth,
  seen: { ended: boolean; behind: boolean; buffered: number; subscriptions: number },
  nowMs: number,
): HealthAction => {
  if (seen.ended) return nowMs - health.endedMs > closeMs ? { terminate: undefined } : undefined
  if (isStalled(health, seen, nowMs)) return { terminate: 'stalled' }
  if (seen.subscriptions > 0) health.idleSinceMs = nowMs
  if (nowMs - health.idleSinceMs > idleMs) return { close: 'idle' }
  if (nowMs - health.pingedMs < pingEveryMs) return undefined
  if (health.misses >= maxMisses) return { terminate: 'silent' }
  health.pingedMs = nowMs
  health.misses += 1
  return { ping: true }
}

const isStalled = (
  health: ClientHealth,
  { behind, buffered }: { behind: boolean; buffered: number },
  nowMs: number,
): boolean => {
  if (!behind || buffered < health.leastBuffered) {
    health.leastBuffered = behind ? buffered : Number.POSITIVE_INFINITY
    health.leastSinceMs = nowMs
    return false
  }
  return nowMs - health.leastSinceMs > drainMs + buffered / drainBytesPerMs
}
