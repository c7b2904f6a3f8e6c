import type { Clock } from '#shared/clock.ts'

/** A clock that advances only when a test moves it. */
export type FakeClock = Clock & {
  /** Advances both times. Fires due timers in order of their time, including those set meanwhile. */
  advance(ms: number): void
  /** Moves only the wall clock, back or forward, as when the machine's time is set. */
  jump(ms: number): void
  /** The number of pending timers. */
  readonly pending: number
}

/** Creates a clock at `startMs` since the epoch. */
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
