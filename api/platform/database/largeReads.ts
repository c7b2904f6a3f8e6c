import { Problem } from '#api/platform/http/problem.ts'
import type { Clock } from '#shared/clock.ts'
import { type Crowd, createTurns } from '#shared/turns.ts'

/**
 * Runs a read of many or large rows in the turn of a group, such as an organization. Throws a 429 or 503, without running it, if too
 * many wait.
 */
export type RunLargeRead = <T>(group: string, read: () => Promise<T>) => Promise<T>

/** A second read of a group would take memory and time without being faster, so each has one slot. */
const limits = { slots: 2, reserve: 1, maxWaiting: 64, maxWaitingOfOne: 16 }
const maxWaitMs = 10_000

/** Returns a function that runs one large read of a group at a time, and two of all groups. The others wait, each at most 10 s. */
export const createLargeReads = (clock: Pick<Clock, 'setTimeout'>): RunLargeRead => {
  const runInTurn = createTurns('large pages', { ...limits, wait: { clock, maxMs: maxWaitMs } })
  return (group, read) => runInTurn(group, read, tooMany)
}

const tooMany = (crowd: Crowd): Problem => {
  const [code, place] =
    crowd === 'all' ? (['unavailable', 'replica'] as const) : (['rate_limited', 'organization'] as const)
  const detail = `Too many lists of this ${place} are waiting, because they read many or large items. Retry after the time in Retry-After.`
  return new Problem(code, detail, { headers: { 'retry-after': '2' } })
}
