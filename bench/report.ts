/** The durations of a repeated operation, in milliseconds, and the resources that the processes used. */
export type Row = { readonly what: string; readonly timesMs: readonly number[]; readonly usage?: string }

/** The value below which the part lies; 0 for no values. */
export const quantile = (values: readonly number[], part: number): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(part * sorted.length) - 1)] ?? 0
}

/** A table: p50, p99 and the whole, and each p50 as a multiple of the first row's. */
export const formatRows = (rows: readonly Row[]): string => {
  const base = quantile(rows[0]?.timesMs ?? [], 0.5)
  const lines = rows.map(({ what, timesMs, usage }) => {
    const p50 = quantile(timesMs, 0.5)
    const cells = [p50, quantile(timesMs, 0.99), Math.max(0, ...timesMs)].map((ms) => `${Math.round(ms)}`.padStart(8))
    return `${what.padEnd(34)}${cells.join('')}${(p50 / base).toFixed(2).padStart(9)}   ${usage ?? ''}`
  })
  return [`${'milliseconds'.padEnd(34)}     p50     p99     max  x first`, ...lines].join('\n')
}
