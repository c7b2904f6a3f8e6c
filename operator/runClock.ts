import type { Clock } from '#shared/clock.ts'

/** The time by which the deadlines of runs are judged; a run is named by the key of its world and its id. */
export type RunClock = {
  /** Epoch milliseconds as the wall showed when this process first saw the run, moved on by the monotonic time since. */
  now(key: string, runId: string | undefined): number
  forget(key: string): void
}

/**
 * A clock that a jump of the wall cannot move: a run that this process follows is as old as the time that really passed.
 * A new run, and every run after a restart of the process, is taken up by the wall, since nothing else outlives it.
 */
export const createRunClock = (clock: Pick<Clock, 'now' | 'monotonic'>): RunClock => {
  /** At most one entry a world that exists. */
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
