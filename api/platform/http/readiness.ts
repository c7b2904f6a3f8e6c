import type { Clock } from '#shared/clock.ts'

/**
 * Returns a function that asks at most once at a time, and keeps an answer for `freshMs`: however many callers there
 * are, each `freshMs` costs one question.
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
