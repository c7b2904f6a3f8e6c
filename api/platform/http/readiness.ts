import type { Clock } from '#shared/clock.ts'

/**
 * Returns a function that calls `ask` at most once at a time. Concurrent callers share its result, and so do callers within
 * `freshMs` after it.
 */
export const shareAnswer = <T>(clock: Clock, freshMs: number, ask: () => Promise<T>): (() => Promise<T>) => {
  let shared: Promise<T> | undefined
  return () => {
    if (shared !== undefined) return shared
    const answer = ask()
    shared = answer
    const forget = (): void => {
      clock.setTimeout(() => {
        shared = undefined
      }, freshMs)
    }
    answer.then(forget, forget)
    return answer
  }
}
