import { setTimeout as delay } from 'node:timers/promises'

const pollMs = 50

/**
 * Waits until `look` gives something other than undefined or false, and returns it. After the limit it fails with what
 * was awaited and, where `look` threw, with why it last did.
 */
export const eventually = async <T>(
  what: string,
  look: () => Promise<T | undefined | false>,
  { timeoutMs = 15_000 } = {},
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
  throw new Error(`waited ${timeoutMs} ms and did not see: ${what}`, { cause: last })
}
