import { expect, test, vi } from 'vitest'
import { createTable as createOwnTable, type FeedPage } from './table.ts'

const world = (worldId: string, version: string, phase: 'Inactive' | 'Active' = 'Inactive') => ({
  worldId,
  projectId: 'prj-1',
  version,
  name: worldId,
  createdAt: '2026-11-21T08:00:00.000Z',
  labels: {},
  profile: 'Capacity30' as const,
  group: 'production' as const,
  region: 'Europe' as const,
  mapName: '',
  capacity: 30,
  restarts: 0,
  status: { phase, message: '', conditions: [] },
})
const page = (isFirst: boolean, isLast: boolean, ...worlds: FeedPage['worlds']): FeedPage => ({
  worlds,
  snapshot: { isFirst, isLast },
})
/** A table whose worlds are taken after each message. */
const createTable = () => {
  const table = createOwnTable()
  return { ...table, apply: (message: FeedPage) => (table.apply(message) ? table.take() : undefined) }
}
const idsOf = (rows: ReadonlyMap<string, unknown> | undefined): string[] | undefined => rows && [...rows.keys()]

test('a table is reported after the last page of its snapshot, with the changes in between', () => {
  const table = createTable()
  expect(table.apply({ worlds: [world('early', '1')] })).toBeUndefined()
  expect(table.apply(page(true, false, world('early', '1'), world('a', '1')))).toBeUndefined()
  expect(table.apply({ worlds: [world('a', '2', 'Active')] })).toBeUndefined()
  expect(table.isComplete()).toBe(false)
  expect(idsOf(table.take())).toEqual(['early', 'a'])
  const rows = table.apply(page(false, true, world('b', '1')))
  expect(idsOf(rows)).toEqual(['early', 'a', 'b'])
  expect(table.isComplete()).toBe(true)
  expect(rows?.get('a')?.status.phase).toBe('Active')
})

test('an empty snapshot is reported once', () => {
  const table = createTable()
  expect(idsOf(table.apply(page(true, true)))).toEqual([])
  expect(table.apply(page(true, true))).toBeUndefined()
})

test('a change gives a new table, and never an older version of a world', () => {
  const table = createTable()
  const first = table.apply(page(true, true, world('a', '2'), world('b', '1')))
  expect(table.apply({ worlds: [world('a', '1', 'Active')] })).toBeUndefined()
  const second = table.apply({ worlds: [world('a', '2', 'Active')] })
  expect(second?.get('a')?.status.phase).toBe('Active')
  expect(first?.get('a')?.status.phase).toBe('Inactive')
  expect(idsOf(table.apply({ worlds: [{ worldId: 'a', isDeleted: true }] }))).toEqual(['b'])
})

test('a later snapshot removes the worlds that no message has named since its first page', () => {
  const table = createTable()
  table.apply(page(true, true, world('a', '1'), world('b', '1'), world('c', '1')))
  expect(table.apply(page(true, false, world('a', '1')))).toBeUndefined()
  expect(table.apply({ worlds: [world('c', '1')] })).toBeUndefined()
  expect(idsOf(table.apply(page(false, true)))).toEqual(['a', 'c'])
})

test('a table that was cleared is reported again, also without worlds', () => {
  const table = createTable()
  table.apply(page(true, true, world('a', '1')))
  table.clear()
  expect(idsOf(table.apply({ worlds: [] }))).toEqual([])
})

test('copies the worlds only after they were taken', () => {
  const table = createOwnTable()
  table.apply(page(true, true, world('a', '1'), world('b', '1')))
  const taken = table.take()
  expect(table.apply({ worlds: [world('a', '2', 'Active')] })).toBe(true)
  expect(taken.get('a')?.status.phase).toBe('Inactive')
  const sizes = new Set<number>()
  const copied = vi.spyOn(globalThis, 'Map')
  for (let at = 0; at < 100; at += 1) {
    expect(table.apply({ worlds: [world(`c${at}`, '1')] })).toBe(true)
    sizes.add(copied.mock.calls.length)
  }
  copied.mockRestore()
  expect([...sizes]).toEqual([0])
  expect(table.take().size).toBe(102)
})
