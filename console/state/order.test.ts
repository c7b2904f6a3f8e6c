import { expect, test } from 'vitest'
import { fc } from '#test/support/fastCheck.ts'
import { parseFilter } from './filter.ts'
import { arrange, describeWaiting } from './order.ts'
import type { Row } from './row.ts'
import { parseSort } from './sort.ts'
import { aRow } from './testing/row.ts'

const named = (...names: string[]): Row[] => names.map((name) => aRow({ id: name, name }))

const arrangeNamed = (rows: readonly Row[], shown: readonly string[] = [], { filter = '', isHeld = true } = {}) => {
  const { ids, waiting } = arrangement(rows, shown, { filter, isHeld })
  return { ids: ids.join(''), waiting }
}

const arrangement = (rows: readonly Row[], shown: readonly string[], { filter = '', isHeld = true } = {}) =>
  arrange({
    shown,
    rows: new Map(rows.map((row) => [row.id, row])),
    filter: parseFilter(filter),
    sort: parseSort('name'),
    isHeld,
  })

test('filters and sorts the worlds', () => {
  const rows = [...named('c', 'a'), aRow({ id: 'x', phase: 'Error' }), ...named('b')]
  const given = { filter: 'phase:Active', isHeld: false }
  expect(arrangeNamed(rows, [...'cx'], given)).toEqual({ ids: 'abc', waiting: 0 })
})

test('keeps a held order and counts a world that moves, is new, is deleted or does not fit any more', () => {
  const shown = [...'abcd']
  expect(arrangeNamed(named('a', 'b', 'c', 'd'), shown)).toEqual({ ids: 'abcd', waiting: 0 })
  expect(arrangeNamed(named('a', 'b', 'bb', 'c', 'd'), shown)).toEqual({ ids: 'abcd', waiting: 1 })
  expect(arrangeNamed(named('a', 'c', 'd'), shown)).toEqual({ ids: 'abcd', waiting: 1 })
  const renamed = [aRow({ id: 'a', name: 'z' }), ...named('b', 'c', 'd')]
  expect(arrangeNamed(renamed, shown)).toEqual({ ids: 'abcd', waiting: 1 })
  const failed = [aRow({ id: 'a', name: 'a', phase: 'Error' }), ...named('b', 'c', 'd')]
  expect(arrangeNamed(failed, shown, { filter: 'phase:Active' })).toEqual({ ids: 'abcd', waiting: 1 })
})

test('counts the held rows that no longer match, and says so', () => {
  const rows = [aRow({ id: 'a', name: 'a', phase: 'Error' }), ...named('b', 'd')]
  expect(arrangement(rows, [...'abc'], { filter: 'phase:Active' })).toMatchObject({ waiting: 3, unmatched: 1 })
  expect(describeWaiting({ waiting: 3, unmatched: 0 })).toBe('3 changes, sort again')
  expect(describeWaiting({ waiting: 3, unmatched: 1 })).toBe(
    '3 changes, sort again (1 row no longer matches the filter)',
  )
  expect(describeWaiting({ waiting: 366, unmatched: 366 })).toContain('(366 rows no longer match the filter)')
})

test('counts the phases of the worlds that match the other words', () => {
  const rows = [
    ...['a', 'b'].map((id) => aRow({ id, labels: { team: 'events' } })),
    aRow({ id: 'c', labels: { team: 'events' }, phase: 'Error' }),
    aRow({ id: 'd', phase: 'Error' }),
  ]
  for (const filter of ['label:team=events', 'phase:Error label:team=events', '-phase:Error label:team'])
    for (const isHeld of [true, false])
      expect(arrangement(rows, [], { filter, isHeld }).phases).toMatchObject({ Active: 2, Error: 1, Starting: 0 })
})

test('sorts again once it is not held', () => {
  const rows = named('c', 'b')
  expect(arrangeNamed(rows, [...'bac'], { isHeld: false })).toEqual({ ids: 'bc', waiting: 0 })
})

test('counts no change exactly if a new arrangement is the same', () => {
  const letters = fc.uniqueArray(fc.constantFrom(...'abcdefgh'))
  fc.assert(
    fc.property(letters, letters, (shown, present) => {
      const rows = named(...present)
      const held = arrangeNamed(rows, shown)
      expect(held.ids).toBe(shown.join(''))
      expect(held.waiting === 0).toBe(arrangeNamed(rows, shown, { isHeld: false }).ids === held.ids)
      expect(held.waiting).toBeLessThanOrEqual(new Set([...shown, ...present]).size)
    }),
  )
})
