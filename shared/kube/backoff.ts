import type { Clock } from '#shared/clock.ts'

/** Waits that double from `firstBackoffMs` to `maxBackoffMs`, and start over after `resetBackoffMs` without a fault. */
export type BackoffTiming = {
  readonly firstBackoffMs: number
  readonly maxBackoffMs: number
  readonly resetBackoffMs: number
}

/** Creates a function to call at each fault. It returns the wait in milliseconds: 1 to 2 times the base, up to the maximum. */
export const createBackoff = (timing: BackoffTiming, clock: Clock, random: () => number): (() => number) => {
  let baseMs = timing.firstBackoffMs
  let lastMs = Number.NEGATIVE_INFINITY
  return () => {
    const nowMs = clock.monotonic()
    if (nowMs - lastMs > timing.resetBackoffMs) baseMs = timing.firstBackoffMs
    lastMs = nowMs
    const waitMs = Math.min(timing.maxBackoffMs, baseMs * (1 + random()))
    baseMs = Math.min(timing.maxBackoffMs, baseMs * 2)
    return waitMs
  }
}
