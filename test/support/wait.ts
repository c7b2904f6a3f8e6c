import { setTimeout as delay } from 'node:timers/promises'

const pollMs = 50

/**
 * The factor for the limits of all waits in tests, so that a busy machine does not fail a test. A test that passes never waits for
 * such a limit.
 */
export const patience = 4

/**
 * Polls `look` until it returns something other than undefined or false, and returns that. After `timeoutMs`, multiplied by the
 * patience, it throws an error that names what did not happen and the last error of `look`.
 */
export const eventually = async <T>(
  what: string,
  look: () => Promise<T | undefined | false>,
  { timeoutMs = 45_000 } = {},
): Promise<T> => {
  const limitMs = timeoutMs * patience
  const deadlineMs = performance.now() + limitMs
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
  // Reports of a run show messages, but no causes.
  const why = last instanceof Error ? `; last error: ${last.message}` : ''
  throw new Error(`Not seen within ${limitMs} ms: ${what}${why}`, { cause: last })
}
