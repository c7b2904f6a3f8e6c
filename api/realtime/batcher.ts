import { type Clock, sleep } from '#shared/clock.ts'
import type { Log } from '#shared/log.ts'

const retryMs = 250

/** A queue of things that are worked on together. */
export type Batcher<T> = { add(thing: T): void }

/**
 * Works on what is added, one batch at a time. What is added while a batch is under way comes into a later one, so that
 * the work on it begins after it was added. A batch that fails is tried again, with what came meanwhile, until it
 * succeeds or the signal is aborted. The queue is as long as there are different things to add.
 */
export const createBatcher = <T>(options: {
  name: string
  limit: number
  work: (things: readonly T[]) => Promise<void>
  clock: Clock
  log: Log
  signal: AbortSignal
}): Batcher<T> => {
  const { name, limit, work, clock, log, signal } = options
  const queue = new Set<T>()
  let running = false
  const run = async (): Promise<void> => {
    while (queue.size > 0 && !signal.aborted) {
      const batch = [...queue.values().take(limit)]
      for (const thing of batch) queue.delete(thing)
      try {
        await work(batch)
      } catch (error) {
        log.warn({ batch: name, things: batch.length, err: error }, 'realtime: a batch failed and is tried again')
        for (const thing of batch) queue.add(thing)
        await sleep(clock, retryMs, signal)
      }
    }
    running = false
  }
  return {
    add: (thing) => {
      queue.add(thing)
      if (running) return
      running = true
      // What is added in the same turn belongs to the same batch.
      queueMicrotask(() => void run())
    },
  }
}
