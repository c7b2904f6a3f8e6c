import { type Clock, sleep } from '#shared/clock.ts'
import type { Log } from '#shared/log.ts'

/** A queue of work that several processes share. A claim that is not settled becomes available again. */
export type Queue<Item> = {
  /** Claims at most `limit` items that are due. */
  readonly claim: (limit: number) => Promise<Item[]>
  /** Does the work of an item and records the result. */
  readonly work: (item: Item) => Promise<void>
}

type Options = {
  /** The maximum number of items that this process works on at the same time. */
  readonly concurrency: number
  /** The interval at which an empty queue is read. */
  readonly pollMs: number
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}

/**
 * Works on the items of a queue until the signal aborts, and then waits for those under way. A failed item is logged and
 * becomes available again, and so does a failed claim.
 */
export const runQueue = async <Item>(
  queue: Queue<Item>,
  { concurrency, pollMs, clock, log, signal }: Options,
): Promise<void> => {
  const running = new Set<Promise<void>>()
  const begin = (item: Item): void => {
    const work = queue
      .work(item)
      .catch((error: unknown) => log.warn({ err: error }, 'work on a queue item failed'))
      .finally(() => running.delete(work))
    running.add(work)
  }
  while (!signal.aborted) {
    const free = concurrency - running.size
    const items = await queue.claim(free).catch((error: unknown): Item[] => {
      log.warn({ err: error }, 'claim of queue items failed')
      return []
    })
    items.forEach(begin)
    if (items.length === 0) await sleep(clock, pollMs, signal)
    if (running.size >= concurrency) await Promise.race(running)
  }
  await Promise.all(running)
}
