import { setTimeout as delay } from 'node:timers/promises'

const pollMs = 50

/**
 * Polls `look` until it returns something other than undefined or false, and returns that. After the limit it throws an
 * error that names what did not happen, with the last error of `look` as its cause.
 */
export const eventually = async <T>(
  what: string,
  look: () => Promise<T | undefined | false>,
  { timeoutMs = 45_000 } = {},
): Promise<T> => {
  const deadlineMs = performance.now() + timeoutMs
  let last: unknown
  while (performance.now() < deadlineMs) {
    try {
      const seen = await look()
      if (seen !== undefined && seen !== false) return seen
      last = undefined
    } catch (error) {
      last = error
    }
    await delay(pollMs)
  }
  throw new Error(`Not seen within ${timeoutMs} ms: ${what}`, { cause: last })
}
