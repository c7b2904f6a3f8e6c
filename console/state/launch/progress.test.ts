import { expect, test } from 'vitest'
import { toProgress } from './progress.ts'

test('counts the requests and the ready ones at each of equal steps, until the end', () => {
  const points = toProgress([400, 100, 100], [250, 700])
  expect(points).toHaveLength(31)
  expect(points[0]).toEqual({ atMs: 100, requested: 2, ready: 0 })
  expect(points.filter(({ atMs }) => [240, 260, 400].includes(atMs))).toEqual([
    { atMs: 240, requested: 2, ready: 0 },
    { atMs: 260, requested: 2, ready: 1 },
    { atMs: 400, requested: 3, ready: 1 },
  ])
  expect(points.at(-1)).toEqual({ atMs: 700, requested: 3, ready: 2 })
  expect(toProgress([400, 100, 100], [250, 700], 1_000).at(-1)).toEqual({ atMs: 1_000, requested: 3, ready: 2 })
})

test('is level if all happened at one time, also one in the future of the clock', () => {
  const points = toProgress([500], [500], 100)
  expect(points).toHaveLength(31)
  for (const point of points) expect(point).toEqual({ atMs: 500, requested: 1, ready: 1 })
})

test('has no points without a request', () => {
  expect(toProgress([], [], 100)).toEqual([])
})
