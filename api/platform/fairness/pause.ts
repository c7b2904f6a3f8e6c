/** The pause in relation to the time of the work before it. */
const factor = 4
/** The longest pause. */
const maxMs = 40

/**
 * Returns the pause in milliseconds before work that gathers what is due, such as a claim, is repeated. On an idle machine it is
 * `minMs`. On a busy one the work takes longer, and so does the pause: each repetition then finds more to do, and the repetitions
 * take at most a fifth of the time.
 */
export const pauseAfter = (tookMs: number, minMs: number): number => Math.max(minMs, Math.min(factor * tookMs, maxMs))
