import type { Clock } from '#shared/clock.ts'
import type { Connection } from './connection.ts'

/** What comes within this time goes out in one write. */
const gatherMs = 2
/** Other work gets its turn after this many connections. */
const connectionsATurn = 1_000

/**
 * Flushes connections soon after they ask for it, together with all that asked meanwhile. When flushing takes long,
 * more gathers for each write, so that throughput rises with the load.
 */
export const createFlusher = (clock: Clock, flush: (connection: Connection) => void) => {
  let queue: Connection[] = []
  let running = false
  const run = (batch: readonly Connection[], from: number): void => {
    for (const connection of batch.slice(from, from + connectionsATurn)) {
      connection.waitsForFlush = false
      flush(connection)
    }
    const next = from + connectionsATurn
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
    }, gatherMs)
  }
  return {
    /** Asks for a flush; one that waits for room is flushed when there is some. */
    want: (connection: Connection): void => {
      if (connection.waitsForFlush || connection.waitsForDrain) return
      connection.waitsForFlush = true
      queue.push(connection)
      if (!running) arm()
    },
  }
}
