import type { Clock, Timer } from '#shared/clock.ts'
import type { QueueMetrics } from './metrics.ts'

/** The wait of a failing key: `baseMs`, doubled with each failure, up to `maxMs`. */
export type Backoff = { readonly baseMs: number; readonly maxMs: number }

/** The priority of a key: `high` for changes that users wait for, `low` for work that is not urgent. */
export type Priority = 'high' | 'normal' | 'low'

/**
 * A queue of keys with the rules of client-go's workqueue: a key is in the queue at most once and is processed by one worker
 * at a time. A key that is added while it is processed is queued again when it is done.
 */
export type Queue = {
  /** Adds a key, by default with normal priority. Of several priorities of one key, the highest applies. */
  add(key: string, options?: { priority?: Priority }): void
  /**
   * Adds the key after a delay, by default with normal priority. Of two delays for one key, the earlier applies. A key that `get`
   * returns meanwhile loses its delay, because its processing decides anew when it is due.
   */
  addAfter(key: string, delayMs: number, options?: { priority?: Priority }): void
  /** Adds the key after a wait that grows with each call until `forget`. */
  addRateLimited(key: string): void
  forget(key: string): void
  /**
   * Resolves with the next key, or with undefined once the queue is shut down. Keys of one priority come in order of
   * arrival. Each priority has its share, so none waits for ever because of the others.
   */
  get(): Promise<string | undefined>
  /** Ends the processing of a key. Call it once for each key that `get` returned. */
  done(key: string): void
  shutDown(): void
  depth(): number
}

/** Creates a queue. Its length is bounded by the number of objects. */
export const createQueue = (options: { clock: Clock; backoff: Backoff; metrics?: QueueMetrics }): Queue => {
  const { clock, backoff, metrics } = options
  const lanes = createLanes()
  /** Keys in processing: the time of their start, and their priority if they were added meanwhile. */
  const working = new Map<string, { sinceMs: number; again: Priority | undefined }>()
  const delayed = new Map<string, { atMs: number; timer: Timer }>()
  const failures = new Map<string, number>()
  const waiters: ((key: string | undefined) => void)[] = []
  let closed = false

  const dispatchKeys = (): void => {
    while (waiters.length > 0) {
      const first = lanes.takeNext()
      if (first === undefined) return
      const [key, addedMs] = first
      delayed.get(key)?.timer.cancel()
      delayed.delete(key)
      working.set(key, { sinceMs: clock.monotonic(), again: undefined })
      metrics?.observeWait((clock.monotonic() - addedMs) / 1000)
      waiters.shift()?.(key)
    }
  }
  const addWaiting = (key: string, priority: Priority): void => {
    const present = lanes.find(key)
    if (present !== undefined && !isHigher(priority, present.priority)) return
    if (present === undefined) metrics?.countAdd()
    lanes.put(key, priority, present?.sinceMs ?? clock.monotonic())
    dispatchKeys()
  }
  const add: Queue['add'] = (key, { priority = 'normal' } = {}) => {
    if (closed) return
    const busy = working.get(key)
    if (busy === undefined) return addWaiting(key, priority)
    if (busy.again === undefined) metrics?.countAdd()
    if (busy.again === undefined || isHigher(priority, busy.again)) busy.again = priority
  }
  const addAfter: Queue['addAfter'] = (key, delayMs, options) => {
    if (closed) return
    metrics?.countRetry()
    if (delayMs <= 0) return add(key, options)
    const atMs = clock.monotonic() + delayMs
    const waiting = delayed.get(key)
    if (waiting !== undefined && waiting.atMs <= atMs) return
    waiting?.timer.cancel()
    const timer = clock.setTimeout(() => {
      delayed.delete(key)
      add(key, options)
    }, delayMs)
    delayed.set(key, { atMs, timer })
  }
  metrics?.observe(() => {
    const secondsAtWork = [...working.values()].map(({ sinceMs }) => (clock.monotonic() - sinceMs) / 1000)
    return { depth: lanes.size(), secondsAtWork }
  })
  return {
    add,
    addAfter,
    addRateLimited: (key) => {
      const count = failures.get(key) ?? 0
      failures.set(key, count + 1)
      // Beyond 2^30 the maximum counts in any case, and the power stays a number.
      addAfter(key, Math.min(backoff.maxMs, backoff.baseMs * 2 ** Math.min(count, 30)))
    },
    forget: (key) => void failures.delete(key),
    get: () =>
      new Promise((resolve) => {
        if (closed) return resolve(undefined)
        waiters.push(resolve)
        dispatchKeys()
      }),
    done: (key) => {
      const busy = working.get(key)
      if (busy === undefined) return
      working.delete(key)
      metrics?.observeWork((clock.monotonic() - busy.sinceMs) / 1000)
      if (busy.again === undefined || closed) return
      lanes.put(key, busy.again, clock.monotonic())
      dispatchKeys()
    },
    shutDown: () => {
      closed = true
      for (const { timer } of delayed.values()) timer.cancel()
      delayed.clear()
      for (const waiter of waiters.splice(0)) waiter(undefined)
    },
    depth: () => lanes.size(),
  }
}

/** The share of each priority while all have keys, highest first. */
const shares: readonly { readonly priority: Priority; readonly share: number }[] = [
  { priority: 'high', share: 4 },
  { priority: 'normal', share: 4 },
  { priority: 'low', share: 1 },
]

const rankOf = (priority: Priority): number => shares.findIndex((each) => each.priority === priority)
const isHigher = (a: Priority, b: Priority): boolean => rankOf(a) < rankOf(b)

/** Creates one lane for each priority, with the time of arrival of each key. */
const createLanes = () => {
  const lanes = shares.map((each) => ({ ...each, ...createLane(), credit: 0 }))
  return {
    find: (key: string): { priority: Priority; sinceMs: number } | undefined => {
      for (const { priority, entries } of lanes) {
        const sinceMs = entries.get(key)
        if (sinceMs !== undefined) return { priority, sinceMs }
      }
      return undefined
    },
    put: (key: string, priority: Priority, sinceMs: number): void => {
      for (const lane of lanes) {
        if (lane.priority === priority) lane.put(key, sinceMs)
        else lane.entries.delete(key)
      }
    },
    /**
     * Takes the first key of the next lane by smooth weighted round-robin, as in nginx: each lane with keys gets its share as
     * credit, and the lane with the most credit is chosen and pays the sum of all shares.
     */
    takeNext: (): [string, number] | undefined => {
      const waiting = lanes.filter(({ entries }) => entries.size > 0)
      for (const lane of waiting) lane.credit += lane.share
      const [first, ...others] = waiting
      if (first === undefined) return undefined
      const next = others.reduce((best, lane) => (lane.credit > best.credit ? lane : best), first)
      next.credit -= waiting.reduce((sum, { share }) => sum + share, 0)
      const taken = next.takeFirst()
      // An empty lane keeps neither credit nor debt.
      if (next.entries.size === 0) next.credit = 0
      return taken
    },
    size: (): number => lanes.reduce((sum, { entries }) => sum + entries.size, 0),
  }
}

/** Creates a list of keys in order of arrival, with the time of arrival. */
const createLane = () => {
  const entries = new Map<string, number>()
  // One iterator is kept, since a new one would first step over the entries that were deleted.
  let order = entries.entries()
  return {
    entries,
    put: (key: string, sinceMs: number): void => void entries.set(key, sinceMs),
    takeFirst: (): [string, number] | undefined => {
      let next = order.next()
      if (next.done) {
        order = entries.entries()
        next = order.next()
      }
      if (next.done) return undefined
      entries.delete(next.value[0])
      return next.value
    },
  }
}
