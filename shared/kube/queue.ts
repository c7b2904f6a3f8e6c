import type { Clock, Timer } from '#shared/clock.ts'
import type { QueueMetrics } from './metrics.ts'

/** The wait of a failing key: `baseMs`, doubled with each failure, up to `maxMs`. */
export type Backoff = { readonly baseMs: number; readonly maxMs: number }

/**
 * A queue of keys with the rules of client-go's workqueue: a key is in the queue at most once and is processed by one worker
 * at a time. A key that is added while it is processed is queued again when it is done.
 */
export type Queue = {
  /** Adds a key. Keys of low priority, such as those of an initial list, wait for all others. */
  add(key: string, options?: { lowPriority?: boolean }): void
  /** Adds the key after a delay. Of two delays for one key, the earlier applies. */
  addAfter(key: string, delayMs: number): void
  /** Adds the key after a wait that grows with each call until `forget`. */
  addRateLimited(key: string): void
  forget(key: string): void
  /** Resolves with the next key in order of arrival, or with undefined once the queue is shut down. */
  get(): Promise<string | undefined>
  /** Ends the processing of a key. Call it once for each key that `get` returned. */
  done(key: string): void
  shutDown(): void
  depth(): number
}

/** Creates a queue. Its length is bounded by the number of objects. */
export const createQueue = (options: { clock: Clock; backoff: Backoff; metrics?: QueueMetrics }): Queue => {
  const { clock, backoff, metrics } = options
  const urgent = createLane()
  const patient = createLane()
  /** Keys in processing: the time of their start, and their priority if they were added meanwhile. */
  const working = new Map<string, { sinceMs: number; again: 'urgent' | 'patient' | undefined }>()
  const delayed = new Map<string, { atMs: number; timer: Timer }>()
  const failures = new Map<string, number>()
  const waiters: ((key: string | undefined) => void)[] = []
  let closed = false

  const dispatchKeys = (): void => {
    while (waiters.length > 0) {
      const first = urgent.takeFirst() ?? patient.takeFirst()
      if (first === undefined) return
      const [key, addedMs] = first
      working.set(key, { sinceMs: clock.monotonic(), again: undefined })
      metrics?.observeWait((clock.monotonic() - addedMs) / 1000)
      waiters.shift()?.(key)
    }
  }
  const addWaiting = (key: string, lowPriority: boolean): void => {
    const patientSinceMs = patient.entries.get(key)
    if (urgent.entries.has(key) || (lowPriority && patientSinceMs !== undefined)) return
    if (patientSinceMs === undefined) metrics?.countAdd()
    patient.entries.delete(key)
    const lane = lowPriority ? patient : urgent
    lane.entries.set(key, patientSinceMs ?? clock.monotonic())
    dispatchKeys()
  }
  const add: Queue['add'] = (key, { lowPriority = false } = {}) => {
    if (closed) return
    const busy = working.get(key)
    if (busy === undefined) return addWaiting(key, lowPriority)
    if (busy.again === undefined) metrics?.countAdd()
    if (busy.again !== 'urgent') busy.again = lowPriority ? 'patient' : 'urgent'
  }
  const addAfter: Queue['addAfter'] = (key, delayMs) => {
    if (closed) return
    metrics?.countRetry()
    if (delayMs <= 0) return add(key)
    const atMs = clock.monotonic() + delayMs
    const waiting = delayed.get(key)
    if (waiting !== undefined && waiting.atMs <= atMs) return
    waiting?.timer.cancel()
    const timer = clock.setTimeout(() => {
      delayed.delete(key)
      add(key)
    }, delayMs)
    delayed.set(key, { atMs, timer })
  }
  metrics?.observe(() => {
    const secondsAtWork = [...working.values()].map(({ sinceMs }) => (clock.monotonic() - sinceMs) / 1000)
    return { depth: urgent.entries.size + patient.entries.size, secondsAtWork }
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
      ;(busy.again === 'urgent' ? urgent : patient).entries.set(key, clock.monotonic())
      dispatchKeys()
    },
    shutDown: () => {
      closed = true
      for (const { timer } of delayed.values()) timer.cancel()
      delayed.clear()
      for (const waiter of waiters.splice(0)) waiter(undefined)
    },
    depth: () => urgent.entries.size + patient.entries.size,
  }
}

/** Creates a list of keys in order of arrival, with the time of arrival. */
const createLane = () => {
  const entries = new Map<string, number>()
  // One iterator is kept, since a new one would first step over the entries that were deleted.
  let order = entries.entries()
  return {
    entries,
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
