import type { Clock } from '#shared/clock.ts'
import { digestOf } from '#shared/digest.ts'

const maxAgeMs = 5_000
const maxCounts = 1_000

/** Returns the count of a name, JSON values, at most 5 s old. It counts if there is none. */
export type RecentCounts = <T>(name: readonly unknown[], count: () => Promise<T>) => Promise<T>

/** Creates a memory of at most 1,000 counts. Calls with one name share a count that is under way. A count that failed is not kept. */
export const createRecentCounts = (clock: Pick<Clock, 'monotonic'>): RecentCounts => {
  const counts = new Map<string, { readonly atMs: number; readonly result: Promise<unknown> }>()
  return <T>(name: readonly unknown[], count: () => Promise<T>): Promise<T> => {
    const key = digestOf(name)
    const known = counts.get(key)
    if (known !== undefined && clock.monotonic() - known.atMs < maxAgeMs) return known.result as Promise<T>
    counts.delete(key)
    const [oldest] = counts.keys()
    if (counts.size >= maxCounts && oldest !== undefined) counts.delete(oldest)
    const result = count()
    const entry = { atMs: clock.monotonic(), result }
    counts.set(key, entry)
    result.catch(() => counts.get(key) === entry && counts.delete(key))
    return result
  }
}
