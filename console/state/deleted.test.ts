import { expect, test } from 'vitest'
import { describePurge, describeShown, selectDeleted } from './deleted.ts'

const world = (documentId: string, name: string, day: number) => ({
  documentId,
  name,
  deletedAt: `2026-11-0${day}T00:00:00Z`,
  purgeAt: '2026-12-01T00:00:00Z',
  isRestorable: true,
})
const worlds = [world('wld-a', 'Lobby', 1), world('wld-b', 'Arena', 3), world('wld-c', 'Old lobby', 2)]

test.each([
  ['', ['wld-b', 'wld-c', 'wld-a']],
  [' LOBBY ', ['wld-c', 'wld-a']],
  ['WLD-B', ['wld-b']],
  ['none', []],
])('"%s" selects by name or id, the last deletion first', (text, ids) => {
  expect(selectDeleted(worlds, text).map(({ documentId }) => documentId)).toEqual(ids)
})

test.each([
  ['2026-11-30T20:59:00Z', 'in 3 h 1 min'],
  ['2026-12-01T00:00:00Z', 'at any moment'],
  ['2026-12-02T00:00:00Z', 'at any moment'],
])('at %s, a world is erased %s', (now, text) => {
  expect(describePurge('2026-12-01T00:00:00Z', Date.parse(now))).toBe(text)
})

test.each([
  [1, 2, false, '1 of 2'],
  [1, 1_000, true, '1 of 1,000 that were read. There are more'],
  [501, 501, false, '501 of 501: the 500 that were deleted last are shown'],
  [
    501,
    1_000,
    true,
    '501 of 1,000 that were read. There are more. Of those that were read, the 500 that were deleted last are shown',
  ],
] as const)('%i selected of %i, more: %s', (selected, read, hasMore, text) => {
  expect(describeShown(selected, read, { hasMore })).toBe(text)
})
