import type { Budget } from '#api/platform/fairness/budget.ts'
import { type Clock, sleep } from '#shared/clock.ts'

/** Runs a read while it holds that many bytes. */
export type RunHeld = <T>(bytes: number, read: () => Promise<T>) => Promise<T>

const retryMs = 20
/** The longest wait for the bytes. Requests hold theirs for as long as their clients need. */
const maxWaitMs = 5_000

/**
 * Returns a function that runs a read while the budget of the process holds its bytes, as for a request. If they do not fit, the
 * read waits, at most 5 s: its caller reads one batch at a time, so a batch beyond the budget is bounded, and no client waits
 * for ever.
 */
export const createHeldReads =
  ({ inFlight, clock, signal }: { inFlight: Budget; clock: Clock; signal: AbortSignal }): RunHeld =>
  async (bytes, read) => {
    const lease = inFlight.open(undefined)
    const endMs = clock.monotonic() + maxWaitMs
    while (lease.hold(bytes) !== undefined && clock.monotonic() < endMs && !signal.aborted) {
      await sleep(clock, retryMs, signal)
    }
    try {
      return await read()
    } finally {
      lease.end()
    }
  }
