/** A timer that can be called off; cancelling twice, or after it fired, does nothing. */
export type Timer = { cancel(): void }

/** Where time comes from, so that tests can hold it still. */
export type Clock = {
  /** Milliseconds since the epoch: what people and other machines mean by time. It can jump. */
  now(): number
  /** Milliseconds since some fixed moment: for measuring. It never goes back. */
  monotonic(): number
  /** Calls `callback` once, never before `delayMs` have passed by the monotonic time; any length of delay is right. */
  setTimeout(callback: () => void, delayMs: number): Timer
}

/** Node fires a timer at once when its delay does not fit 31 bits, so longer waits are made of several. */
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

/** Resolves after `delayMs`, or as soon as the signal is aborted; it never rejects. */
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
