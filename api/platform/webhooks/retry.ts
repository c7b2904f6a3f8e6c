const firstDelayMs = 5_000
const factor = 5
const longestDelayMs = 24 * 3_600_000
/** The part of a delay that is random, so that deliveries that failed together are not repeated together. */
const jitter = 0.2

/**
 * Returns the delay after failed attempt number `attempt`, which counts from 1: 5 s, 25 s, 2 min, 10 min, 1 h, 4 h, 22 h and then
 * 24 h, each up to 20 % longer. Ten attempts take about three days. `random` is from 0 to 1.
 */
export const retryDelayMs = (attempt: number, random: number): number =>
  Math.round(Math.min(firstDelayMs * factor ** (attempt - 1), longestDelayMs) * (1 + jitter * random))
