import type { Row } from '#console/state/row.ts'

const secondMs = 1_000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs

/**
 * The longest start. By default the operator ends a run whose server was not ready within 10 minutes, so a later time is that of a
 * server that became ready again.
 */
export const longestStartMs = 15 * minuteMs

/** Reports whether the server of the present run became ready so late that it was ready before. The API has only the last such time. */
export const isReadyAgain = ({ startedAtMs, readySinceMs }: Row): boolean =>
  startedAtMs > 0 && readySinceMs - startedAtMs > longestStartMs

/**
 * Returns the time from the request of the present run until players could enter, in milliseconds, or undefined while they cannot, and
 * if the server became ready again. It is in whole seconds, as the operator reports them, and at least one.
 */
export const startTimeMs = (row: Row): number | undefined => {
  const { startedAtMs, readySinceMs } = row
  if (startedAtMs === 0 || readySinceMs === 0 || isReadyAgain(row)) return undefined
  return Math.max(secondMs, Math.ceil((readySinceMs - startedAtMs) / secondMs) * secondMs)
}

/** Returns a quantile by the nearest rank: the lowest value that at least this share of the values does not exceed. 0 without values. */
export const quantile = (sorted: ArrayLike<number>, share: number): number =>
  sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0

/** The number of values above `fromMs` up to `toMs`. The last bin has no upper end if values are far beyond the others. */
export type Bin = { readonly fromMs: number; readonly toMs: number; readonly count: number }

/** The most bins beside the last one without an end. */
const maxBins = 20
const widthsMs = [1, 2, 5, 10, 15, 30]
  .map((each) => each * secondMs)
  .concat([1, 2, 5, 10, 15, 30].map((each) => each * minuteMs))
  .concat([1, 2, 4, 8, 12, 24].map((each) => each * hourMs))

/**
 * Returns bins of equal width from 0 on that hold all values, which are sorted and above 0. Values beyond twice the p95 share one bin
 * without an end, so that a few of them do not flatten the others.
 */
export const toBins = (sorted: ArrayLike<number>): Bin[] => {
  if (sorted.length === 0) return []
  const highestMs = sorted[sorted.length - 1] ?? 0
  const limitMs = Math.min(highestMs, 2 * quantile(sorted, 0.95))
  const widthMs = widthsMs.find((each) => limitMs / each <= maxBins) ?? Math.ceil(limitMs / maxBins)
  const length = Math.max(1, Math.ceil(limitMs / widthMs))
  const counts = new Array<number>(length + 1).fill(0)
  for (let index = 0; index < sorted.length; index += 1) {
    const bin = Math.min(length, Math.ceil((sorted[index] ?? 0) / widthMs) - 1)
    counts[bin] = (counts[bin] ?? 0) + 1
  }
  return counts.flatMap((count, index) => {
    const fromMs = index * widthMs
    if (index < length) return [{ fromMs, toMs: fromMs + widthMs, count }]
    return count === 0 ? [] : [{ fromMs, toMs: Number.POSITIVE_INFINITY, count }]
  })
}
