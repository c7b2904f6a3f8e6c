const firstMs = 1_000
const mostMs = 30_000

/**
 * Returns the wait after a number of failed attempts in a row: a random part of a bound that doubles up to 30 s (full
 * jitter), so that clients that lost the API together do not return together. `random` is from 0 to below 1.
 */
export const backoffMs = (failures: number, random: number): number =>
  random * Math.min(mostMs, firstMs * 2 ** failures)
