import { type Clock, sleep } from '#shared/clock.ts'
import type { Log } from '#shared/log.ts'
import { DeadlineError, within } from '#shared/peers.ts'

/** A queue of work that several processes share. A claim that is not settled becomes available again at the end of its lease. */
export type Queue<Item> = {
  /** Claims at most `limit` items that are due. */
  readonly claim: (limit: number) => Promise<Item[]>
  /** Does the work of an item and records the result. */
  readonly work: (item: Item) => Promise<void>
}

type Options = {
  /** The maximum number of items that this process works on at the same time. */
  readonly concurrency: number
  /** The time after its claim at which an item no longer counts as under way, whether or not its work has ended. */
  readonly leaseMs: number
  /** The interval at which an empty queue is read. */
  readonly pollMs: number
  readonly clock: Clock
  readonly log: Pick<Log, 'warn' | 'error'>
  readonly signal: AbortSignal
}

const overdue =
  'work on a queue item did not end within its lease, so the item is tried again; report this as a defect, and restart the process if it repeats'

/**
 * Works on the items of a queue until the signal aborts, and then waits for those under way, at most until the end of their
 * leases. A failed item is logged and becomes available again, and so does a failed claim.
 */
export const runQueue = async <Item>(
  queue: Queue<Item>,
  { concurrency, leaseMs, pollMs, clock, log, signal }: Options,
): Promise<void> => {
  const running = new Set<Promise<void>>()
  const begin = (item: Item, untilMs: number): void => {
    const timeoutMs = untilMs - clock.monotonic()
    const work = within({ clock, timeoutMs }, () => queue.work(item))
      .catch((error: unknown) => {
        if (error instanceof DeadlineError) log.error({ leaseMs }, overdue)
        else log.warn({ err: error }, 'work on a queue item failed')
      })
      .finally(() => running.delete(work))
    running.add(work)
  }
  while (!signal.aborted) {
    const free = concurrency - running.size
    const untilMs = clock.monotonic() + leaseMs
    const items = await within({ clock, timeoutMs: leaseMs }, () => queue.claim(free)).catch(
      (error: unknown): Item[] => {
        log.warn({ err: error }, 'claim of queue items failed')
        return []
      },
    )
    for (const item of items) begin(item, untilMs)
    if (items.length === 0) await sleep(clock, pollMs, signal)
    if (running.size >= concurrency) await Promise.race(running)
  }
  await Promise.all(running)
}
