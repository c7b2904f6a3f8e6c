import { ApiError } from './error.ts'

/** Where time comes from, so that tests need not wait. */
export type Clock = {
  /** Milliseconds since the epoch. */
  now(): number
  /** Resolves after the time, or as soon as the signal is aborted; it never rejects. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>
}

/** The time of this machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (delayMs, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted === true) return resolve()
      const finish = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', finish)
        resolve()
      }
      const timer = setTimeout(finish, delayMs)
      signal?.addEventListener('abort', finish)
    }),
}

/** All waits for one operation together. */
const maxWaitMs = 10_000
const repeatableMethods = ['GET', 'HEAD', 'PUT', 'DELETE']

/** Whether doing a request twice is as good as once: by its method, or since the API knows it again by its key. */
export const isRepeatable = (method: string, headers: Headers): boolean =>
  repeatableMethods.includes(method) || headers.has('idempotency-key')

/**
 * Tries again when the API asks for it with Retry-After, at most `maxRetries` times, and 10 s of waiting in all. An
 * aborted signal ends a wait, and the attempt after it is to end by the signal too.
 */
export const withRetries = async <T>(
  attempt: () => Promise<T>,
  options: { maxRetries: number; clock: Clock; signal: AbortSignal | undefined },
): Promise<T> => {
  let waitedMs = 0
  for (let retries = 0; ; retries += 1) {
    try {
      return await attempt()
    } catch (error) {
      const waitMs = waitOf(error)
      if (waitMs === undefined || retries >= options.maxRetries || waitedMs + waitMs > maxWaitMs) throw error
      await options.clock.sleep(waitMs, options.signal)
      waitedMs += waitMs
    }
  }
}

const waitOf = (error: unknown): number | undefined =>
  error instanceof ApiError && [429, 503].includes(error.status) && error.retryAfterSeconds !== undefined
    ? error.retryAfterSeconds * 1000
    : undefined
