import { type Clock, sleep } from '#shared/clock.ts'
import { createFairQueue, type SharedQueue } from '#shared/fairQueue.ts'
import type { Log } from '#shared/log.ts'

const retryMs = 250

/** A queue whose items are processed in batches. */
export type Batcher<T> = { add(item: T): void }

/**
 * Processes added items, one batch at a time. An item that is added during a batch belongs to a later batch, so its work
 * always starts after it was added. A failed batch is retried, together with new items, until it succeeds or the signal
 * is aborted. The queue holds each item once. A batch takes one item of each organization in turn, so that one with many items does
 * not delay the others.
 */
export const createBatcher = <T>(options: {
  name: SharedQueue
  limit: number
  /** Returns the organization of an item. */
  ownerOf: (item: T) => string
  /** Processes a batch. Returns the items for which it had no room, with which the next batch begins. */
  work: (items: readonly T[]) => Promise<readonly T[]>
  clock: Clock
  log: Log
  signal: AbortSignal
}): Batcher<T> => {
  const { name, limit, work, clock, log, signal } = options
  const queue = createFairQueue(name, options.ownerOf)
  let running = false
  const run = async (): Promise<void> => {
    while (queue.size > 0 && !signal.aborted) {
      const batch = queue.take(limit)
      try {
        queue.putBack(await work(batch))
      } catch (error) {
        log.warn({ batch: name, items: batch.length, err: error }, 'realtime: batch failed, retrying')
        for (const item of batch) queue.add(item)
        await sleep(clock, retryMs, signal)
      }
    }
    running = false
  }
  return {
    add: (item) => {
      queue.add(item)
      if (running) return
      running = true
      // Items that are added in the same turn of the event loop belong to the same batch.
      queueMicrotask(() => void run())
    },
  }
}
