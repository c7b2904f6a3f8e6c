import type { Clock } from '#shared/clock.ts'

/** A clock that stands still until a test moves it. */
export type FakeClock = Clock & {
  /** Moves both times on and fires, in order of their moment, all timers that come due; those they set may fire too. */
  advance(ms: number): void
  /** Moves the wall clock alone, back or on: somebody set the machine's time. */
  jump(ms: number): void
  /** The number of pending timers. */
  readonly pending: number
}

/** A clock that shows `startMs` since the epoch. */
export const createFakeClock = (startMs = 0): FakeClock => {
  type Waiting = { dueAt: number; callback: () => void }
  let elapsedMs = 0
  let offsetMs = startMs
  const timers = new Set<Waiting>()
  const nextDue = (until: number): Waiting | undefined => {
    let first: Waiting | undefined
    for (const timer of timers)
      if (timer.dueAt <= until && (first === undefined || timer.dueAt < first.dueAt)) first = timer
    return first
  }
  return {
    now: () => offsetMs + elapsedMs,
    monotonic: () => elapsedMs,
    setTimeout: (callback, delayMs) => {
      const timer = { dueAt: elapsedMs + Math.max(0, delayMs), callback }
      timers.add(timer)
      return { cancel: () => timers.delete(timer) }
    },
    advance: (ms) => {
      const until = elapsedMs + ms
      for (let timer = nextDue(until); timer !== undefined; timer = nextDue(until)) {
        timers.delete(timer)
        elapsedMs = Math.max(elapsedMs, timer.dueAt)
        timer.callback()
      }
      elapsedMs = until
    },
    jump: (ms) => {
      offsetMs += ms
    },
    get pending() {
      return timers.size
    },
  }
}
