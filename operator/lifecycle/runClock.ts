import type { Clock } from '#shared/clock.ts'

/** The time for the deadlines of runs. A run is named by the key of its resource and its id. */
export type RunClock = {
  /**
   * Returns epoch milliseconds, measured with the monotonic clock from the wall-clock time at which this process first saw
   * the run.
   */
  now(key: string, runId: string | undefined): number
  forget(key: string): void
}

/**
 * Creates a clock for the age of runs. The age grows with the monotonic clock, so jumps of the wall clock do not change it.
 * It starts from the wall clock when this process first sees the run, because no monotonic clock survives a restart.
 */
export const createRunClock = (clock: Pick<Clock, 'now' | 'monotonic'>): RunClock => {
  /** At most one entry for each resource that exists. */
  const anchors = new Map<string, { runId: string | undefined; offsetMs: number }>()
  return {
    now: (key, runId) => {
      let anchor = anchors.get(key)
      if (anchor === undefined || anchor.runId !== runId) {
        anchor = { runId, offsetMs: clock.now() - clock.monotonic() }
        anchors.set(key, anchor)
      }
      return Math.round(anchor.offsetMs + clock.monotonic())
    },
    forget: (key) => void anchors.delete(key),
  }
}
