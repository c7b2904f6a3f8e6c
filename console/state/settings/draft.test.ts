import { expect, test } from 'vitest'
import {
  afterSave,
  changedByOthers,
  conflictsOf,
  type Draft,
  dropEdit,
  editedFields,
  editField,
  followLatest,
  keepMine,
} from './draft.ts'
import { aVersion } from './testing/world.ts'

const first = aVersion()
const edit = (id: string, text: string, draft?: Draft): Draft => {
  const next = editField(draft, first, id, text)
  if (next === undefined) throw new Error('nothing is edited')
  return next
}
const ids = (all: readonly { id: string }[]): string[] => all.map(({ id }) => id)

test('a draft has the settings that differ, in the order of the page, and ends with the last of them', () => {
  const draft = edit('name', 'Hall', edit('runtime.mapName', 'ice', edit('description', 'New')))
  expect(ids(editedFields(draft))).toEqual(['runtime.mapName', 'name', 'description'])
  expect(ids(editedFields(edit('name', 'Lobby', draft)))).toEqual(['runtime.mapName', 'description'])
  expect(editField(edit('name', 'Hall'), first, 'name', 'Lobby')).toBeUndefined()
  expect(dropEdit(edit('name', 'Hall'), first, 'name')).toBeUndefined()
})

test('a change of another setting moves the base, and is listed', () => {
  const second = aVersion({ description: 'Theirs' }, 2)
  const draft = followLatest(edit('name', 'Hall'), second)
  expect(draft).toMatchObject({ began: first, base: second, texts: { name: 'Hall' } })
  expect(ids(changedByOthers(draft as Draft, second))).toEqual(['description'])
  expect(conflictsOf(draft as Draft, second)).toEqual([])
})

test('a change of an edited setting keeps the base until the user has decided', () => {
  const second = aVersion({ name: 'Theirs' }, 2)
  const draft = followLatest(edit('name', 'Hall', edit('description', 'Mine')), second) as Draft
  expect(draft.base).toBe(first)
  expect(ids(conflictsOf(draft, second))).toEqual(['name'])
  expect(keepMine(draft, second, 'name')).toMatchObject({ base: second, texts: { name: 'Hall', description: 'Mine' } })
  expect(dropEdit(draft, second, 'name')).toEqual({
    began: first,
    base: second,
    texts: { description: 'Mine' },
    refused: {},
  })
})

test('a decision about one version is not one about the next', () => {
  const [second, third] = [
    aVersion({ name: 'Theirs', description: 'Theirs' }, 2),
    aVersion({ name: 'Other', description: 'Theirs' }, 3),
  ]
  const draft = followLatest(edit('name', 'Hall', edit('description', 'Mine')), second) as Draft
  const decided = keepMine(draft, second, 'name') as Draft
  expect(ids(conflictsOf(decided, second))).toEqual(['description'])
  expect(ids(conflictsOf(followLatest(decided, third) as Draft, third))).toEqual(['name', 'description'])
})

test('the same change by others ends the edit', () => {
  expect(followLatest(edit('name', 'Hall'), aVersion({ name: 'Hall' }, 2))).toBeUndefined()
})

test('a save leaves the edits that were made or undone meanwhile, based on what was saved', () => {
  const sent = edit('name', 'Hall', edit('description', 'Mine', edit('networking.ports', '[1]')))
  const saved = aVersion({ name: 'Hall', description: 'Mine' }, 2)
  expect(afterSave(sent, sent, saved)).toBeUndefined()
  const again = edit('name', 'Hall 2', sent)
  expect(afterSave(again, sent, saved)).toEqual({ began: saved, base: saved, texts: { name: 'Hall 2' }, refused: {} })
  expect(afterSave(dropEdit(sent, first, 'name'), sent, saved)?.texts).toEqual({ name: 'Lobby' })
})

test('a capacity that is the number of the profile is edited with it, and can be kept', () => {
  const [profile, capacity] = ['networking.scaling.profile', 'admission.capacity']
  const draft = edit(profile, 'Capacity60')
  expect(draft.texts).toEqual({ [profile]: 'Capacity60', [capacity]: '60' })
  expect(edit(profile, 'Capacity100', draft).texts).toEqual({ [profile]: 'Capacity100', [capacity]: '100' })
  expect(editField(draft, first, profile, 'Capacity30')).toBeUndefined()
  expect(dropEdit(draft, first, profile)).toBeUndefined()
  const kept = dropEdit(draft, first, capacity) as Draft
  expect(edit(profile, 'Capacity100', kept).texts).toEqual({ [profile]: 'Capacity100' })
  const own = aVersion({ admission: { policy: 'Open', capacity: 12 } })
  expect(editField(undefined, own, profile, 'Capacity60')?.texts).toEqual({ [profile]: 'Capacity60' })
})
