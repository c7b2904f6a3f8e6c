import { expect, test } from 'vitest'
import { countPhases, groupByReason } from './groups.ts'
import { aRow } from './testing/row.ts'

test('counts the worlds in each phase', () => {
  const rows = [aRow(), aRow({ phase: 'Error' }), aRow()]
  expect(countPhases(rows)).toEqual({ Error: 1, Starting: 0, Active: 2, Inactive: 0, Stopped: 0 })
})

test('groups worlds by reason, the largest group first, and those that only wait last', () => {
  const rows = [
    ...['b', 'a', 'c'].map((reason) => aRow({ reason })),
    ...Array.from({ length: 5 }, () => aRow({ reason: 'AddressPending' })),
    aRow({ reason: 'c' }),
    aRow(),
  ]
  expect(groupByReason(rows).map(({ reason, count, isTemporary }) => [reason, count, isTemporary])).toEqual([
    ['c', 2, false],
    ['a', 1, false],
    ['b', 1, false],
    ['AddressPending', 5, true],
  ])
})

test('takes time and message of the world that has had the reason for the longest time', () => {
  const rows = [
    aRow({ reason: 'a', reasonSinceMs: 0, message: 'unknown' }),
    aRow({ reason: 'a', reasonSinceMs: 20, message: 'second' }),
    aRow({ reason: 'a', reasonSinceMs: 10, message: 'first' }),
  ]
  expect(groupByReason(rows)).toMatchObject([{ count: 3, sinceMs: 10, message: 'first' }])
})
