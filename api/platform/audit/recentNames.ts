import type { Clock } from '#shared/clock.ts'
import { digestOf } from '#shared/digest.ts'

/** The maximum number of names in memory. Further names of the minute are not remembered. */
const maxNames = 50_000
const minuteMs = 60_000

/** The names of the current minute. */
export type RecentNames = {
  has(name: readonly unknown[]): boolean
  add(name: readonly unknown[]): void
}

/** Creates a set of names, JSON values, that is emptied each minute. It stores their digests. */
export const createRecentNames = (clock: Clock): RecentNames => {
  const digests = new Set<string>()
  let minute = 0
  const turn = (): void => {
    const now = Math.floor(clock.monotonic() / minuteMs)
    if (now !== minute) digests.clear()
    minute = now
  }
  return {
    has: (name) => {
      turn()
      return digests.has(digestOf(name))
    },
    add: (name) => {
      turn()
      if (digests.size < maxNames) digests.add(digestOf(name))
    },
  }
}
