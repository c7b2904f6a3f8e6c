import { ApiError } from './error.ts'

/** A source of time that tests can replace. */
export type Clock = {
  /** Milliseconds since the epoch. */
  now(): number
  /** Resolves after the delay or when the signal is aborted. Never rejects. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>
}

/** The system clock. */
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

/** The limit of all waits of one operation. */
const maxWaitMs = 10_000
const repeatableMethods = ['GET', 'HEAD', 'PUT', 'DELETE']

/** Reports whether a request may be repeated: by its method, or because it has an idempotency key. */
export const isRepeatable = (method: string, headers: Headers): boolean =>
  repeatableMethods.includes(method) || headers.has('idempotency-key')

/**
 * Repeats an attempt that is answered 429 or 503 with Retry-After, at most `maxRetries` times and with at most 10 s of
 * waiting. An aborted signal ends a wait; the attempt that follows must reject because of the signal.
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
