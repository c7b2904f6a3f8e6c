import { expect, test } from 'vitest'
import { decideSweep } from './sweep.ts'

const missing = (count: number, isExplained = false) =>
  Array.from({ length: count }, (_, at) => ({ id: `${isExplained ? 'explained' : 'missing'}-${at}`, isExplained }))

test.each([
  { count: 5, total: 5, accepted: 0, held: 0 },
  { count: 6, total: 6, accepted: 0, held: 6 },
  { count: 10, total: 100, accepted: 0, held: 0 },
  { count: 11, total: 109, accepted: 0, held: 11 },
  { count: 100, total: 100, accepted: 100, held: 0 },
  { count: 101, total: 200, accepted: 100, held: 101 },
])('of $total resources, $count are missing and $accepted accepted: $held are held', ({ count, held, ...limits }) => {
  const decision = decideSweep(missing(count), limits)
  expect([decision.held.length, decision.recreate.length]).toEqual([held, count - held])
})

test('resources that a deleted namespace took with it are always recreated and do not count', () => {
  const taken = missing(50, true)
  expect(decideSweep([...taken, ...missing(5)], { total: 60, accepted: 0 })).toEqual({
    recreate: [...taken, ...missing(5)],
    held: [],
  })
  expect(decideSweep([...taken, ...missing(7)], { total: 60, accepted: 0 })).toEqual({
    recreate: taken,
    held: missing(7),
  })
})
