import { createShares, type ShareLimits } from '#api/platform/fairness/shares.ts'
import { Problem } from '#api/platform/http/problem.ts'
import type { Clock } from '#shared/clock.ts'

/** Runs a read of many or large rows in the turn of a group. Throws a 429 or 503, without running it, if too many wait. */
export type RunLargeRead = <T>(group: string, read: () => Promise<T>) => Promise<T>

const maxWaitMs = 10_000
/** A second read of a group would take memory and time without being faster. */
const ofGroup: ShareLimits = { maxConcurrent: 1, maxWaiting: 16, maxWaitMs }
/** All groups together. Each waits with one read at most, so groups take turns. */
const ofAll: ShareLimits = { maxConcurrent: 2, maxWaiting: 64, maxWaitMs }

/** Returns a function that runs one large read of a group at a time, and two of all groups. The others wait, each at most 10 s. */
export const createLargeReads = (clock: Pick<Clock, 'setTimeout'>): RunLargeRead => {
  const runInGroup = createShares(clock, ofGroup)
  const runInProcess = createShares(clock, ofAll)
  return (group, read) =>
    runInGroup(
      group,
      () => runInProcess('all', read, () => tooMany('unavailable', 'replica')),
      () => tooMany('rate_limited', 'organization'),
    )
}

const tooMany = (code: 'unavailable' | 'rate_limited', place: string): Problem => {
  const detail = `Too many lists of this ${place} are waiting, because they read many or large items. Retry after the time in Retry-After.`
  return new Problem(code, detail, { headers: { 'retry-after': '2' } })
}
