import type { Clock } from '#shared/clock.ts'

/** The number of starts that may wait for their first status while the API server is slow. */
const maxWaiting = 128
/** Room is given to this many starts at a time, so that they share a claim. */
const leastRoom = 16
/** A push that takes longer shows that the API server is busy. Otherwise it takes about 10 ms. */
const slowMs = 100
/**
 * The longest time that a start waits here. The operator writes the first status of a run when its server is Ready, and after 2 s at
 * the latest.
 */
const maxWaitMs = 5_000

/**
 * The starts that were pushed to a busy API server and have no status yet. Without a limit, the pushes of many starts would take
 * the API server from the operator, and no server would start until all of them are pushed.
 */
export type Starts = {
  /** Returns the number of further starts that may be pushed now: 0, or at least 16. */
  room(): number
  /** Runs the push of a start. Its key is `namespace/name`. */
  track<T>(key: string, push: () => Promise<T>): Promise<T>
  /** Call it when the World has the status of its present spec, or is gone. */
  reported(key: string): void
}

/** Creates the record of starts. `onRoom` is called when starts may be pushed again. */
export const createStarts = (clock: Pick<Clock, 'monotonic'>, onRoom: () => void): Starts => {
  /** The times at which the pushes began, oldest first. */
  const startedMs = new Map<string, number>()
  const end = (key: string): void => {
    if (startedMs.delete(key) && maxWaiting - startedMs.size === leastRoom) onRoom()
  }
  return {
    room: () => {
      const nowMs = clock.monotonic()
      for (const [key, beganMs] of startedMs) {
        if (nowMs - beganMs < maxWaitMs) break
        startedMs.delete(key)
      }
      const room = maxWaiting - startedMs.size
      return room < leastRoom ? 0 : room
    },
    track: async (key, push) => {
      const beganMs = clock.monotonic()
      startedMs.delete(key)
      startedMs.set(key, beganMs)
      let waits = false
      try {
        const result = await push()
        waits = clock.monotonic() - beganMs >= slowMs
        return result
      } finally {
        if (!waits) end(key)
      }
    },
    reported: end,
  }
}
