import type { Clock, Timer } from '#shared/clock.ts'
import type { QueueMetrics } from './metrics.ts'

/** Waits of keys that fail again and again: `baseMs` doubles with each failure up to `maxMs`. */
export type Backoff = { readonly baseMs: number; readonly maxMs: number }

/**
 * Keys that wait for a worker, as client-go's workqueue keeps them: a key is in the queue once, is never handed out
 * twice at a time, and one that is added while it is worked on comes again when it is done.
 */
export type Queue = {
  /** Low priority is for the many keys of a first list: they wait for all others. */
  add(key: string, options?: { lowPriority?: boolean }): void
  /** Adds the key after a delay; of two delays for one key the earlier counts. */
  addAfter(key: string, delayMs: number): void
  /** Adds the key after a wait that grows with each failure since it was last forgotten. */
  addRateLimited(key: string): void
  forget(key: string): void
  /** The next key, first come first served; undefined once the queue is shut down, whatever still waits in it. */
  get(): Promise<string | undefined>
  /** Must follow each key that was handed out. */
  done(key: string): void
  shutDown(): void
  depth(): number
}

/** A queue of any number of keys; there are never more than there are objects. */
export const createQueue = (options: { clock: Clock; backoff: Backoff; metrics?: QueueMetrics }): Queue => {
  const { clock, backoff, metrics } = options
  const urgent = createLane()
  const patient = createLane()
  /** Keys at work since when, and whether they were added meanwhile. */
  const working = new Map<string, { sinceMs: number; again: 'urgent' | 'patient' | undefined }>()
  const delayed = new Map<string, { atMs: number; timer: Timer }>()
  const failures = new Map<string, number>()
  const takers: ((key: string | undefined) => void)[] = []
  let closed = false

  const handOut = (): void => {
    while (takers.length > 0) {
      const first = urgent.takeFirst() ?? patient.takeFirst()
      if (first === undefined) return
      const [key, addedMs] = first
      working.set(key, { sinceMs: clock.monotonic(), again: undefined })
      metrics?.waited((clock.monotonic() - addedMs) / 1000)
      takers.shift()?.(key)
    }
  }
  const addWaiting = (key: string, lowPriority: boolean): void => {
    const patientSinceMs = patient.entries.get(key)
    if (urgent.entries.has(key) || (lowPriority && patientSinceMs !== undefined)) return
    if (patientSinceMs === undefined) metrics?.added()
    patient.entries.delete(key)
    const lane = lowPriority ? patient : urgent
    lane.entries.set(key, patientSinceMs ?? clock.monotonic())
    handOut()
  }
  const add: Queue['add'] = (key, { lowPriority = false } = {}) => {
    if (closed) return
    const busy = working.get(key)
    if (busy === undefined) return addWaiting(key, lowPriority)
    if (busy.again === undefined) metrics?.added()
    if (busy.again !== 'urgent') busy.again = lowPriority ? 'patient' : 'urgent'
  }
  const addAfter: Queue['addAfter'] = (key, delayMs) => {
    if (closed) return
    metrics?.retried()
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
        takers.push(resolve)
        handOut()
      }),
    done: (key) => {
      const busy = working.get(key)
      if (busy === undefined) return
      working.delete(key)
      metrics?.worked((clock.monotonic() - busy.sinceMs) / 1000)
      if (busy.again === undefined || closed) return
      ;(busy.again === 'urgent' ? urgent : patient).entries.set(key, clock.monotonic())
      handOut()
    },
    shutDown: () => {
      closed = true
      for (const { timer } of delayed.values()) timer.cancel()
      delayed.clear()
      for (const taker of takers.splice(0)) taker(undefined)
    },
    depth: () => urgent.entries.size + patient.entries.size,
  }
}

/** Keys in the order in which they came, with the time when they did. */
const createLane = () => {
  const entries = new Map<string, number>()
  // One iterator goes along: a new one each time would first have to step over all that was taken already.
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
