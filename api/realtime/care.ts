import type { Ending } from './ending.ts'

/** How often a client is asked whether it is still there, and how many answers it may miss. */
const pingEveryMs = 30_000
const maxMisses = 2
/** A client that takes nothing for this long, and a second more for each 64 KiB, is ended. */
const drainMs = 5_000
const drainBytesPerMs = 64
/** A client that was told goodbye answers within this, or is cut off. */
const closeMs = 5_000
/** A connection without a subscription serves nobody. */
const idleMs = 600_000
/** Messages and pings of a client: this many a second, and so many at once as a client has to subscribe anew. */
export const messagesPerSecond = 50
const messageBurst = 256
const maxMalformed = 5

/** What is remembered of a client's conduct; times are monotonic milliseconds. */
export type Care = {
  pingedMs: number
  misses: number
  idleSinceMs: number
  endedMs: number
  /** The least that was buffered since it fell behind, and when that was reached. */
  leastBuffered: number
  leastSinceMs: number
  tokens: number
  tokensMs: number
  malformed: number
}

/** A client that just came; `jitter` from 0 to 1 spreads the pings of those who came together. */
export const createCare = (nowMs: number, jitter: number): Care => ({
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

/** The client gave a sign of life. */
export const heard = (care: Care): void => {
  care.misses = 0
}

/** Counts a message or a ping; false is one too many. */
export const takeToken = (care: Care, nowMs: number): boolean => {
  const refilled = care.tokens + ((nowMs - care.tokensMs) / 1000) * messagesPerSecond
  care.tokens = Math.min(messageBurst, refilled)
  care.tokensMs = nowMs
  if (care.tokens < 1) return false
  care.tokens -= 1
  return true
}

/** Counts a malformed message; false is one too many. */
export const takeMalformed = (care: Care): boolean => {
  care.malformed += 1
  return care.malformed <= maxMalformed
}

/** What a client needs now: nothing, a ping, an end with a goodbye, or an end without one. */
export type Need = { ping: true } | { close: Ending } | { terminate: Ending | undefined } | undefined

/** Looks after one client; called about once a second. */
export const needOf = (
  care: Care,
  seen: { ended: boolean; behind: boolean; buffered: number; subscriptions: number },
  nowMs: number,
): Need => {
  if (seen.ended) return nowMs - care.endedMs > closeMs ? { terminate: undefined } : undefined
  if (isStalled(care, seen, nowMs)) return { terminate: 'stalled' }
  if (seen.subscriptions > 0) care.idleSinceMs = nowMs
  if (nowMs - care.idleSinceMs > idleMs) return { close: 'idle' }
  if (nowMs - care.pingedMs < pingEveryMs) return undefined
  if (care.misses >= maxMisses) return { terminate: 'silent' }
  care.pingedMs = nowMs
  care.misses += 1
  return { ping: true }
}

const isStalled = (care: Care, { behind, buffered }: { behind: boolean; buffered: number }, nowMs: number): boolean => {
  if (!behind || buffered < care.leastBuffered) {
    care.leastBuffered = behind ? buffered : Number.POSITIVE_INFINITY
    care.leastSinceMs = nowMs
    return false
  }
  return nowMs - care.leastSinceMs > drainMs + buffered / drainBytesPerMs
}
