import { isExpired, isThrottled, isTooLargeVersion, KubeError } from './errors.ts'

/** The progress of a cache, which decides its next request. */
export type Position = {
  /** The last version seen; "" before the first list. */
  readonly version: string
  readonly mustList: boolean
  /** The server does not know the version any more, or not yet: list what is newest, read from its quorum. */
  readonly newest: boolean
  /** Watches in a row that the server answered and that failed without bringing anything. */
  readonly strikes: number
}

/** So many watches may fail from one version before the cache lists anew, for whatever stands in the way there. */
const maxStrikes = 3

/** Before anything is known. */
export const unknownPosition: Position = { version: '', mustList: true, newest: false, strikes: 0 }

/** The version to list from, as client-go asks: the server's cache at first, later nothing older than what was seen. */
export const listVersion = ({ version, newest }: Position): string | undefined => {
  if (newest) return undefined
  return version === '' ? '0' : version
}

/** After a full list, or an event or bookmark, of that version. */
export const positionAt = (version: string): Position => ({ version, mustList: false, newest: false, strikes: 0 })

/** After a fault. An interrupted watch goes on from where it was; only a version that is too old makes a new list. */
export const positionAfter = (position: Position, error: unknown): Position => {
  if (position.mustList) return { ...position, newest: position.newest || isExpired(error) || isTooLargeVersion(error) }
  if (isExpired(error)) return { ...position, mustList: true, strikes: 0 }
  const unanswered = error instanceof KubeError && ['Unreachable', 'Timeout', 'Aborted'].includes(error.reason)
  if (unanswered || isThrottled(error)) return position
  const strikes = position.strikes + 1
  return { ...position, strikes: strikes % maxStrikes, mustList: strikes >= maxStrikes }
}
