/** A timer that can be cancelled. Cancelling it again, or after it fired, does nothing. */
export type Timer = { cancel(): void }

/** A source of time. Tests pass one that they control. */
export type Clock = {
  /** Returns the wall-clock time in milliseconds since the epoch. It can jump. */
  now(): number
  /** Returns milliseconds since a fixed moment, for measuring durations. It never decreases. */
  monotonic(): number
  /** Calls `callback` once, not before `delayMs` have passed in monotonic time. A delay can have any length. */
  setTimeout(callback: () => void, delayMs: number): Timer
}

/** Node fires a timer at once if its delay does not fit in 31 bits, so longer delays use several timers. */
const longestTimerMs = 2 ** 31 - 1

/** The time of this machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimeout: (callback, delayMs) => {
    const dueAt = performance.now() + delayMs
    const arm = (): NodeJS.Timeout => {
      const waitMs = Math.min(Math.max(Math.ceil(dueAt - performance.now()), 0), longestTimerMs)
      return setTimeout(() => {
        if (performance.now() >= dueAt) callback()
        else timer = arm()
      }, waitMs)
    }
    let timer = arm()
    return { cancel: () => clearTimeout(timer) }
  },
}

/** Resolves after `delayMs` or when the signal aborts. Never rejects. */
export const sleep = (clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal?.aborted === true) return resolve()
    const finish = (): void => {
      timer.cancel()
      signal?.removeEventListener('abort', finish)
      resolve()
    }
    const timer = clock.setTimeout(finish, delayMs)
    signal?.addEventListener('abort', finish)
  })
