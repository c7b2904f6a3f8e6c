import { setTimeout as delay } from 'node:timers/promises'

const pollMs = 200

/**
 * Calls `look` until it returns something other than undefined, and returns that. Throws after the timeout an error
 * that names what was awaited and the last error of `look`.
 */
export const until = async <T>(what: string, look: () => Promise<T | undefined>, timeoutMs: number): Promise<T> => {
  const deadlineMs = performance.now() + timeoutMs
  let last: unknown
  while (performance.now() < deadlineMs) {
    last = undefined
    const seen = await look().catch((error: unknown) => {
      last = error
      return undefined
    })
    if (seen !== undefined) return seen
    await delay(pollMs)
  }
  const why = last instanceof Error ? `: ${last.message}` : ''
  throw new Error(`Waited ${timeoutMs / 1000} s for ${what}${why}`, { cause: last })
}
