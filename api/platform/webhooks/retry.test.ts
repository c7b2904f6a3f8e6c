import { expect, test } from 'vitest'
import { retryDelayMs } from './retry.ts'

const attempts = Array.from({ length: 9 }, (_, at) => at + 1)

test('delays grow exponentially up to 24 hours', () => {
  expect(attempts.map((attempt) => retryDelayMs(attempt, 0) / 1_000)).toEqual([
    5, 25, 125, 625, 3_125, 15_625, 78_125, 86_400, 86_400,
  ])
  expect(retryDelayMs(10_000, 0)).toBe(86_400_000)
})

test('ten attempts take about three days, with and without jitter', () => {
  const days = (random: number) => attempts.reduce((sum, each) => sum + retryDelayMs(each, random), 0) / 86_400_000
  expect(days(0)).toBeCloseTo(3.1, 1)
  expect(days(1)).toBeCloseTo(3.8, 1)
})
