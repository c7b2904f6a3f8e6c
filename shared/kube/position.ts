import { isExpired, isThrottled, KubeError } from './errors.ts'

/** The progress of a cache, which decides its next request. */
export type Position = {
  /** The last version seen; "" before the first list. */
  readonly version: string
  readonly mustList: boolean
  /** The number of consecutive watches that the server answered and that failed before their first event. */
  readonly failedWatches: number
}

/** After this many failed watches from one version, the cache lists again. */
const maxFailedWatches = 3

/** The position before the first list. */
export const unknownPosition: Position = { version: '', mustList: true, failedWatches: 0 }

/** Returns the position after a full list, event or bookmark of that version. */
export const positionAt = (version: string): Position => ({ version, mustList: false, failedWatches: 0 })

/** Returns the position after an error. A watch resumes from its version, unless that is too old or fails repeatedly. */
export const positionAfter = (position: Position, error: unknown): Position => {
  if (position.mustList) return position
  if (isExpired(error)) return { ...position, mustList: true, failedWatches: 0 }
  const unanswered = error instanceof KubeError && ['Unreachable', 'Timeout', 'Aborted'].includes(error.reason)
  if (unanswered || isThrottled(error)) return position
  const failedWatches = position.failedWatches + 1
  return {
    ...position,
    failedWatches: failedWatches % maxFailedWatches,
    mustList: failedWatches >= maxFailedWatches,
  }
}
