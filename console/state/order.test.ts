import { expect, test } from 'vitest'
import { fc } from '#test/support/fastCheck.ts'
import { parseFilter } from './filter.ts'
import { arrange } from './order.ts'
import type { Row } from './row.ts'
import { parseSort } from './sort.ts'
import { aRow } from './testing/row.ts'

const named = (...names: string[]): Row[] => names.map((name) => aRow({ id: name, name }))

const arrangeNamed = (rows: readonly Row[], shown: readonly string[] = [], { filter = '', isHeld = true } = {}) => {
  const byId = new Map(rows.map((row) => [row.id, row]))
  const { ids, waiting } = arrange({
    shown,
    rows: byId,
    filter: parseFilter(filter),
    sort: parseSort('name'),
    isHeld,
  })
  return { ids: ids.join(''), waiting }
}

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
