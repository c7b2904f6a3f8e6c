const firstMs = 1_000
const mostMs = 30_000

/**
 * How long to wait after so many attempts in a row that came to nothing: anything up to a bound that doubles to 30 s
 * (full jitter), so that those who were cut off together do not come back together. `random` is from 0 to below 1.
 */
export const backoffMs = (failures: number, random: number): number =>
  random * Math.min(mostMs, firstMs * 2 ** failures)
