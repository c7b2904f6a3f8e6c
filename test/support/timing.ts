import { expect } from 'vitest'
import { eventually } from './wait.ts'

/** True in `npm test -- timing`, which checks durations and memory. `npm test` checks only that something happens. */
export const isTimed = process.env.ORRERY_TEST_TIMING === 'yes'

/** Checks in `npm test -- timing` that a duration is below its limit. */
export const expectWithin = (durationMs: number, limitMs: number): void => {
  if (isTimed) expect(durationMs).toBeLessThan(limitMs)
}

/** Waits like `eventually`. In `npm test -- timing` it also checks the duration. */
export const eventuallyWithin = async (limitMs: number, what: string, look: () => Promise<boolean>): Promise<void> => {
  const startedMs = performance.now()
  await eventually(what, look)
  expectWithin(performance.now() - startedMs, limitMs)
}
