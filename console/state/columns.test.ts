import { expect, test } from 'vitest'
import { parseColumns, toggleColumn } from './columns.ts'
import { columns } from './sort.ts'

const first = columns.filter(({ isShownFirst }) => isShownFirst).map(({ name }) => name)

test('shows the first columns until others are chosen', () => {
  expect(parseColumns('')).toEqual(first)
})

test('shows the chosen columns in their order on screen, always with the name, and ignores unknown ones', () => {
  expect(parseColumns('labels,phase,nonsense')).toEqual(['name', 'phase', 'labels'])
})

test('adds a column to the list, and removes it again', () => {
  const more = toggleColumn('', 'labels')
  expect(parseColumns(more)).toEqual([...first, 'labels'])
  expect(toggleColumn(more, 'labels')).toBe('')
})

test('keeps the name when it is removed', () => {
  expect(parseColumns(toggleColumn('', 'name'))).toEqual(first)
})
