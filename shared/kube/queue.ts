import type { Clock, Timer } from '#shared/clock.ts'
import { addCount } from '#shared/counts.ts'
import { createFairQueue } from '#shared/fairQueue.ts'
import type { QueueMetrics } from './metrics.ts'
import { createPace, namespaceOfKey, type Pace } from './pace.ts'

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
   * Resolves with the next key, or with undefined once the queue is shut down. Each priority has its share, so none waits for ever
   * because of the others. Within one, the namespaces of keys take turns, and the keys of a namespace come in order of arrival.
   */
  get(): Promise<string | undefined>
  /** Ends the processing of a key. Call it once for each key that `get` returned. */
  done(key: string): void
  shutDown(): void
  depth(): number
}

/**
 * Creates a queue. Its length is bounded by the number of objects. The last `reserve` callers of `get` that wait receive only keys of
 * namespaces without a key in processing, so that slow work of one namespace does not take all workers.
 */
export const createQueue = (options: {
  clock: Clock
  backoff: Backoff
  reserve?: number
  /** The rate at which `get` returns one key. Without it, there is no limit. */
  pace?: Pace
  metrics?: QueueMetrics
}): Queue => {
  const { clock, backoff, metrics, reserve = 0 } = options
  const lanes = createLanes()
  const pace = options.pace && createPace(clock, options.pace)
  const working = createWorking()
  const delayed = new Map<string, { atMs: number; timer: Timer; priority: Priority }>()
  const failures = new Map<string, number>()
  const waiters: ((key: string | undefined) => void)[] = []
  let closed = false

  const mayTake = (namespace: string): boolean => waiters.length > reserve || !working.isBusy(namespace)
  const dispatchKeys = (): void => {
    while (waiters.length > 0) {
      const first = lanes.takeNext(mayTake)
      if (first === undefined) return
      const { key, sinceMs } = first
      delayed.get(key)?.timer.cancel()
      delayed.delete(key)
      pace?.take(key)
      working.begin(key, clock.monotonic())
      metrics?.observeWait((clock.monotonic() - sinceMs) / 1000)
      waiters.shift()?.(key)
    }
  }
  const addWaiting = (key: string, priority: Priority): void => {
    const present = lanes.find(key)
    const delayMs = (present === undefined && pace?.delayMs(key)) || 0
    if (delayMs > 0) {
      delay(key, delayMs, priority)
      return
    }
    if (present !== undefined && !isHigher(priority, present.priority)) return
    if (present === undefined) metrics?.countAdd()
    lanes.put(key, priority, present?.sinceMs ?? clock.monotonic())
    dispatchKeys()
  }
  const delay = (key: string, delayMs: number, priority: Priority): void => {
    const waiting = delayed.get(key)
    const highest = waiting !== undefined && isHigher(waiting.priority, priority) ? waiting.priority : priority
    const atMs = Math.min(waiting?.atMs ?? Number.POSITIVE_INFINITY, clock.monotonic() + delayMs)
    waiting?.timer.cancel()
    const timer = clock.setTimeout(() => {
      delayed.delete(key)
      add(key, { priority: highest })
    }, atMs - clock.monotonic())
    delayed.set(key, { atMs, timer, priority: highest })
  }
  const add: Queue['add'] = (key, { priority = 'normal' } = {}) => {
    if (closed) return
    const busy = working.get(key)
    if (busy === undefined) return addWaiting(key, priority)
    if (busy.again === undefined || isHigher(priority, busy.again)) busy.again = priority
  }
  const addAfter: Queue['addAfter'] = (key, delayMs, { priority = 'normal' } = {}) => {
    if (closed) return
    metrics?.countRetry()
    if (delayMs <= 0) add(key, { priority })
    else delay(key, delayMs, priority)
  }
  metrics?.observe(() => {
    const secondsAtWork = working.all().map(({ sinceMs }) => (clock.monotonic() - sinceMs) / 1000)
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
      const busy = working.end(key)
      if (busy === undefined) return
      metrics?.observeWork((clock.monotonic() - busy.sinceMs) / 1000)
      if (closed) return
      if (busy.again !== undefined) addWaiting(key, busy.again)
      // The namespace may take one of the last workers again.
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

/** The time of the start of a key's processing, and its priority if it was added meanwhile. */
type Busy = { readonly sinceMs: number; again: Priority | undefined }

/** Creates the set of keys in processing. */
const createWorking = () => {
  const keys = new Map<string, Busy>()
  const namespaces = new Map<string, number>()
  return {
    get: (key: string): Busy | undefined => keys.get(key),
    all: (): Busy[] => [...keys.values()],
    isBusy: (namespace: string): boolean => namespaces.has(namespace),
    begin: (key: string, sinceMs: number): void => {
      keys.set(key, { sinceMs, again: undefined })
      addCount(namespaces, namespaceOfKey(key), 1)
    },
    end: (key: string): Busy | undefined => {
      const busy = keys.get(key)
      if (busy === undefined) return undefined
      keys.delete(key)
      addCount(namespaces, namespaceOfKey(key), -1)
      return busy
    },
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
  const lanes = shares.map((each) => ({ ...each, keys: createFairQueue('resources', namespaceOfKey), credit: 0 }))
  const waiting = new Map<string, { readonly priority: Priority; readonly sinceMs: number }>()
  return {
    find: (key: string) => waiting.get(key),
    put: (key: string, priority: Priority, sinceMs: number): void => {
      waiting.set(key, { priority, sinceMs })
      for (const lane of lanes) {
        if (lane.priority === priority) lane.keys.add(key)
        else lane.keys.delete(key)
      }
    },
    /**
     * Takes the first key of the next lane by smooth weighted round-robin, as in nginx: each lane with keys gets its share as
     * credit, and the lane with the most credit is chosen and pays the sum of all shares.
     */
    takeNext: (mayTake: (namespace: string) => boolean): { key: string; sinceMs: number } | undefined => {
      const ready = lanes.filter(({ keys }) => keys.hasNext(mayTake))
      for (const lane of ready) lane.credit += lane.share
      const [first, ...others] = ready
      if (first === undefined) return undefined
      const next = others.reduce((best, lane) => (lane.credit > best.credit ? lane : best), first)
      next.credit -= ready.reduce((sum, { share }) => sum + share, 0)
      const [key] = next.keys.take(1, mayTake)
      // An empty lane keeps neither credit nor debt.
      if (next.keys.size === 0) next.credit = 0
      const taken = key === undefined ? undefined : waiting.get(key)
      if (key === undefined || taken === undefined) return undefined
      waiting.delete(key)
      return { key, sinceMs: taken.sinceMs }
    },
    size: (): number => waiting.size,
  }
}
