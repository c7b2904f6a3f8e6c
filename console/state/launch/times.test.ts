import { describe, expect, test } from 'vitest'
import { aRow } from '#console/state/testing/row.ts'
import { isReadyAgain, quantile, startTimeMs, toBins } from './times.ts'

const seconds = (...values: number[]): number[] => values.map((each) => each * 1_000)

describe('a start time', () => {
  test.each([
    [30_000, 30_000],
    [30_001, 31_000],
    [200, 1_000],
    // The operator reports whole seconds, which may be before the request.
    [-400, 1_000],
  ])('of %i ms is shown as %i ms', (ms, shown) => {
    expect(startTimeMs(aRow({ startedAtMs: 2_000_000, readySinceMs: 2_000_000 + ms }))).toBe(shown)
  })

  test('is unknown without a run, and while players cannot enter', () => {
    expect(startTimeMs(aRow({ startedAtMs: 0 }))).toBeUndefined()
    expect(startTimeMs(aRow({ readySinceMs: 0 }))).toBeUndefined()
  })

  test('is unknown of a server that became ready again, later than any start takes', () => {
    const minuteMs = 60_000
    const readyAfter = (ms: number) => aRow({ startedAtMs: 2_000_000, readySinceMs: 2_000_000 + ms })
    expect([startTimeMs(readyAfter(15 * minuteMs)), isReadyAgain(readyAfter(15 * minuteMs))]).toEqual([
      15 * minuteMs,
      false,
    ])
    expect([startTimeMs(readyAfter(15 * minuteMs + 1)), isReadyAgain(readyAfter(15 * minuteMs + 1))]).toEqual([
      undefined,
      true,
    ])
    expect(isReadyAgain(aRow({ readySinceMs: 0 }))).toBe(false)
    expect(isReadyAgain(aRow({ startedAtMs: 0 }))).toBe(false)
  })
})

describe('a quantile by the nearest rank', () => {
  test.each([
    [0.05, 15],
    [0.3, 20],
    [0.4, 20],
    [0.5, 35],
    [1, 50],
    [0, 15],
  ])('%d of five values is one of them', (share, value) => {
    expect(quantile([15, 20, 35, 40, 50], share)).toBe(value)
  })

  test('of one value is that value, and of none 0', () => {
    expect(quantile([7], 0.95)).toBe(7)
    expect(quantile([], 0.95)).toBe(0)
  })
})

describe('bins', () => {
  test('hold each value once, at most 20 of them, and a value at an edge in the lower one', () => {
    expect(toBins(seconds(1, 2, 2, 4))).toEqual([
      { fromMs: 0, toMs: 1_000, count: 1 },
      { fromMs: 1_000, toMs: 2_000, count: 2 },
      { fromMs: 2_000, toMs: 3_000, count: 0 },
      { fromMs: 3_000, toMs: 4_000, count: 1 },
    ])
    for (const highest of [1, 20, 21, 300, 3_599, 40_000, 86_400, 4_000_000]) {
      const values = seconds(...Array.from({ length: 100 }, (_, index) => Math.ceil((highest * (index + 1)) / 100)))
      const bins = toBins(values)
      expect(bins.length).toBeLessThanOrEqual(20)
      expect(bins.reduce((sum, { count }) => sum + count, 0)).toBe(100)
      for (const { fromMs, toMs, count } of bins) {
        expect(count).toBe(values.filter((each) => each > fromMs && each <= toMs).length)
      }
    }
  })

  test('put values far beyond the p95 into one without an end', () => {
    const bins = toBins(seconds(...new Array<number>(99).fill(5), 3_600))
    expect(bins).toHaveLength(11)
    expect(bins[4]).toEqual({ fromMs: 4_000, toMs: 5_000, count: 99 })
    expect(bins.at(-1)).toEqual({ fromMs: 10_000, toMs: Number.POSITIVE_INFINITY, count: 1 })
  })

  test('of no value are none', () => {
    expect(toBins([])).toEqual([])
  })
})
