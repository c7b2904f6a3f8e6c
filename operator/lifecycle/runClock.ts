import type { Clock } from '#shared/clock.ts'

/** The time for the deadlines of runs. A run is named by the key of its resource and its id. */
export type RunClock = {
  /** Returns epoch milliseconds: the wall clock when this process first saw the run, plus the monotonic time since. */
  now(key: string, runId: string | undefined): number
  forget(key: string): void
}

/**
 * Creates a clock that jumps of the wall clock do not affect: a run that this process has seen ages by monotonic time. A
 * new run, and each run after a restart of the process, begins with the wall clock, the only time that outlives it.
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
