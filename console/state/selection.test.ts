import { expect, test } from 'vitest'
import { describeSelection, emptySelection, keep, type Selection, selectAll, toggle } from './selection.ts'

const shown = [...'abcdef']
const click = (selection: Selection, id: string): Selection => toggle(selection, id, { shown, isRange: false })
const extend = (selection: Selection, id: string): Selection => toggle(selection, id, { shown, isRange: true })
const idsOf = ({ ids }: Selection): string => [...ids].sort().join('')

test('selects and clears one world with a click', () => {
  const one = click(emptySelection, 'b')
  expect(idsOf(one)).toBe('b')
  expect(idsOf(click(one, 'b'))).toBe('')
  expect(emptySelection.ids.size).toBe(0)
})

test('selects a range in both directions, and clears one', () => {
  const range = extend(click(emptySelection, 'b'), 'e')
  expect(idsOf(range)).toBe('bcde')
  expect(idsOf(extend(click(emptySelection, 'e'), 'b'))).toBe('bcde')
  // The range begins at the click before.
  expect(idsOf(extend(range, 'd'))).toBe('bc')
})

test('changes only the clicked world if the click before is not shown', () => {
  expect(idsOf(extend(emptySelection, 'c'))).toBe('c')
  expect(idsOf(extend({ ids: new Set('x'), anchor: 'x' }, 'c'))).toBe('cx')
})

test('selects all, and forgets the worlds that are not kept', () => {
  const all = selectAll(shown)
  expect(idsOf(all)).toBe('abcdef')
  expect(keep(all, () => true)).toBe(all)
  expect(idsOf(keep(all, (id) => id !== 'c'))).toBe('abdef')
})

test('says how many worlds are selected', () => {
  expect(describeSelection(3412)).toBe('3,412 selected')
})
