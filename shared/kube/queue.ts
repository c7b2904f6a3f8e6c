import type { Clock } from '#shared/clock.ts'

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
  /** The next key, or undefined once the queue is shut down and empty. */
  get(): Promise<string | undefined>
  done(key: string): void
  shutDown(): void
  depth(): number
}

/** A queue; `onAdd` and `onRetry` are for metrics. */
export const createQueue = (options: {
  clock: Clock
  backoff: Backoff
  onAdd?: () => void
  onRetry?: () => void
}): Queue => {
  const { clock, backoff } = options
  const dirty = new Set<string>()
  const processing = new Set<string>()
  const urgent = new Set<string>()
  const patient = new Set<string>()
  const delayed = new Map<string, { atMs: number; timer: { cancel(): void } }>()
  const failures = new Map<string, number>()
  const takers: ((key: string | undefined) => void)[] = []
  let closed = false

  const take = (): string | undefined => {
    const lane = urgent.size > 0 ? urgent : patient
    const [key] = lane
    if (key === undefined) return undefined
    lane.delete(key)
    dirty.delete(key)
    processing.add(key)
    return key
  }
  const handOut = (): void => {
    while (takers.length > 0) {
      const key = take()
      if (key === undefined) break
      takers.shift()?.(key)
    }
    if (closed && urgent.size + patient.size === 0) for (const taker of takers.splice(0)) taker(undefined)
  }
  const add: Queue['add'] = (key, { lowPriority = false } = {}) => {
    if (closed) return
    if (dirty.has(key)) {
      if (!lowPriority && patient.delete(key)) urgent.add(key)
      return
    }
    options.onAdd?.()
    dirty.add(key)
    if (processing.has(key)) return
    ;(lowPriority ? patient : urgent).add(key)
    handOut()
  }
  const addAfter: Queue['addAfter'] = (key, delayMs) => {
    if (closed) return
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
  return {
    add,
    addAfter,
    addRateLimited: (key) => {
      const count = failures.get(key) ?? 0
      failures.set(key, count + 1)
      options.onRetry?.()
      addAfter(key, Math.min(backoff.maxMs, backoff.baseMs * 2 ** Math.min(count, 30)))
    },
    forget: (key) => {
      failures.delete(key)
    },
    get: () =>
      new Promise((resolve) => {
        takers.push(resolve)
        handOut()
      }),
    done: (key) => {
      processing.delete(key)
      if (!dirty.has(key)) return
      urgent.add(key)
      handOut()
    },
    shutDown: () => {
      closed = true
      for (const { timer } of delayed.values()) timer.cancel()
      delayed.clear()
      handOut()
    },
    depth: () => urgent.size + patient.size,
  }
}
