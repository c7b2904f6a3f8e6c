import type { Clock } from '#shared/clock.ts'

/**
 * Returns the milliseconds for which this process has seen the resource of that key in that state, on the monotonic clock: 0 the
 * first time. Without a state, forgets the resource.
 */
export type StateAge = (key: string, state: string | undefined) => number

/** Creates a `StateAge` that knows no resource yet. */
export const createStateAge = ({ monotonic }: Pick<Clock, 'monotonic'>): StateAge => {
  /** At most one entry for each resource that exists. */
  const seen = new Map<string, { readonly state: string; readonly sinceMs: number }>()
  return (key, state) => {
    const known = seen.get(key)
    if (state === undefined) seen.delete(key)
    else if (known?.state === state) return monotonic() - known.sinceMs
    else seen.set(key, { state, sinceMs: monotonic() })
    return 0
  }
}
