import { isExpired, isThrottled, KubeError } from './errors.ts'

/** The progress of a cache, which decides its next request. */
export type Position = {
  /** The last version seen; "" before the first list. */
  readonly version: string
  readonly mustList: boolean
  /** Watches in a row that the server answered and that failed without bringing anything. */
  readonly strikes: number
}

/** So many watches may fail from one version before the cache lists anew, for whatever stands in the way there. */
const maxStrikes = 3

/** Before anything is known. */
export const unknownPosition: Position = { version: '', mustList: true, strikes: 0 }

/** After a full list, or an event or bookmark, of that version. */
export const positionAt = (version: string): Position => ({ version, mustList: false, strikes: 0 })

/** After a fault. An interrupted watch goes on from where it was; only a version that is too old makes a new list. */
export const positionAfter = (position: Position, error: unknown): Position => {
  if (position.mustList) return position
  if (isExpired(error)) return { ...position, mustList: true, strikes: 0 }
  const unanswered = error instanceof KubeError && ['Unreachable', 'Timeout', 'Aborted'].includes(error.reason)
  if (unanswered || isThrottled(error)) return position
  const strikes = position.strikes + 1
  return { ...position, strikes: strikes % maxStrikes, mustList: strikes >= maxStrikes }
}
