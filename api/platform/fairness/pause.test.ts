import { expect, test } from 'vitest'
import { pauseAfter } from './pause.ts'

test('a pause grows with the work before it, up to a limit, and is never shorter than its minimum', () => {
  expect([0, 1, 2, 5, 10, 60_000].map((tookMs) => pauseAfter(tookMs, 5))).toEqual([5, 5, 8, 20, 40, 40])
})
