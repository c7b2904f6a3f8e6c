import type { Clock } from '#shared/clock.ts'
import type { Connection } from './connection.ts'

/** Updates that arrive within this time are written together. */
const batchDelayMs = 2
/** The time for flushes in a turn of the event loop. Other requests wait for a few turns. */
const sliceMs = 2
const maxOfTurn = 1_000

/**
 * Flushes scheduled connections together after a short delay. Under load each flush takes longer and covers more updates
 * per write, so throughput rises with the load.
 */
export const createFlusher = (clock: Clock, flush: (connection: Connection) => void) => {
  let queue: Connection[] = []
  let running = false
  const run = (batch: readonly Connection[], from: number): void => {
    const endMs = clock.monotonic() + sliceMs
    let next = from
    for (const connection of batch.slice(from, from + maxOfTurn)) {
      connection.waitsForFlush = false
      flush(connection)
      next += 1
      if (clock.monotonic() >= endMs) break
    }
    if (next < batch.length) setImmediate(run, batch, next)
    else if (queue.length > 0) arm()
    else running = false
  }
  const arm = (): void => {
    running = true
    clock.setTimeout(() => {
      const batch = queue
      queue = []
      run(batch, 0)
    }, batchDelayMs)
  }
  return {
    /** Schedules a flush. A connection without room is flushed when its buffer drains. */
    schedule: (connection: Connection): void => {
      if (connection.waitsForFlush || connection.waitsForDrain) return
      connection.waitsForFlush = true
      queue.push(connection)
      if (!running) arm()
    },
  }
}
