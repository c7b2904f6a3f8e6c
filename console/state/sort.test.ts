import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { fc } from '#test/support/fastCheck.ts'
import { isTemporary } from './attention.ts'
import type { Row } from './row.ts'
import { columns, compareBy, formatSort, labelsOf, parseSort, playersOf } from './sort.ts'
import { aRow } from './testing/row.ts'

const sorted = (sort: string, rows: readonly Partial<Row>[]): string[] =>
  rows
    .map(aRow)
    .sort(compareBy(parseSort(sort)))
    .map(({ id }) => id)

test('shows the worlds first that need attention, then those that start, run and do not run, by name', () => {
  const rows = [
    { id: 'stopped', phase: 'Stopped', name: 'a' },
    { id: 'inactive', phase: 'Inactive', name: 'b' },
    { id: 'active10', name: 'Lobby 10' },
    { id: 'active9', name: 'Lobby 9' },
    { id: 'starting', phase: 'Starting', reason: 'AddressPending', name: 'c' },
    { id: 'degraded', reason: 'Evicted', name: 'd' },
    { id: 'refused', phase: 'Inactive', reason: 'NotAdopted', name: 'b' },
    { id: 'failed', phase: 'Error', reason: 'CrashLoop', name: 'z' },
  ] as const
  const order = ['failed', 'refused', 'degraded', 'starting', 'active9', 'active10', 'stopped', 'inactive']
  expect(sorted('', rows)).toEqual(order)
  expect(sorted('', rows.toReversed())).toEqual(order)
})

test('knows the temporary reasons of docs/worlds.md', () => {
  const page = readFileSync(new URL('../../docs/worlds.md', import.meta.url), 'utf8')
  const [, list = ''] = /^Temporary reasons are ([^.]*)\./m.exec(page) ?? []
  const reasons = [...list.matchAll(/`(\w+)`/g)].map(([, reason = '']) => reason)
  expect(reasons).toHaveLength(10)
  expect(reasons.filter((reason) => !isTemporary(reason))).toEqual([])
  expect(isTemporary('CrashLoop')).toBe(false)
})

test.each([
  ['name', [{ name: 'World 9' }, { name: 'world 10' }, { name: 'World 11' }]],
  ['phase', [{ phase: 'Error' }, { phase: 'Starting' }, { phase: 'Active' }, { phase: 'Inactive' }]],
  ['reason', [{ reason: 'A' }, { reason: 'B' }]],
  ['message', [{ message: 'Arm' }, { message: 'Ärger' }, { message: 'B' }]],
  ['profile', [{ profile: 'Capacity9' }, { profile: 'Capacity10' }, { profile: 'Capacity100' }]],
  [
    'place',
    [
      { group: 'production', region: 'Europe' },
      { group: 'staging', region: 'AsiaPacific' },
    ],
  ],
  ['build', [{ build: 'stable:1.9' }, { build: 'stable:1.10' }]],
  ['map', [{ mapName: 'a' }, { mapName: 'b' }]],
  ['address', [{ address: '10.0.0.9:1' }, { address: '10.0.0.10:1' }]],
  ['players', [{ players: 0 }, { players: 9 }, { players: 10 }]],
  ['restarts', [{ restarts: 0 }, { restarts: 2 }]],
  ['capacity', [{ capacity: 9 }, { capacity: 10 }]],
  ['age', [{ createdAtMs: 2 }, { createdAtMs: 1 }]],
  ['labels', [{ labels: { z: '1', a: '1' } }, { labels: { a: '2' } }]],
] as const)('sorts by %s in both directions', (column, members) => {
  const rows = members.map((each, index) => ({ ...each, id: String(index) }))
  const ids = rows.map(({ id }) => id)
  expect(sorted(column, rows.toReversed())).toEqual(ids)
  expect(sorted(`-${column}`, rows)).toEqual(ids.toReversed())
})

test('shows worlds without a value last in both directions', () => {
  const rows = [{ id: 'none' }, { id: 'a', reason: 'A' }, { id: 'b', reason: 'B' }]
  expect(sorted('reason', rows)).toEqual(['a', 'b', 'none'])
  expect(sorted('-reason', rows)).toEqual(['b', 'a', 'none'])
  const counted = [
    { id: 'unknown', players: undefined },
    { id: 'empty', players: 0 },
    { id: 'full', players: 10 },
  ]
  expect(sorted('players', counted)).toEqual(['empty', 'full', 'unknown'])
  expect(sorted('-players', counted)).toEqual(['full', 'empty', 'unknown'])
})

test('has one order for the same worlds, whatever order they come in', () => {
  const row = fc.record({
    id: fc.uuid(),
    name: fc.constantFrom('', 'a', 'A', 'a1', 'a01', 'ä'),
    phase: fc.constantFrom('Active', 'Error', 'Stopped'),
    reason: fc.constantFrom('', 'CrashLoop', 'Starting'),
  })
  const sort = fc.constantFrom('', ...columns.flatMap(({ name }) => [name, `-${name}`]))
  fc.assert(
    fc.property(fc.uniqueArray(row, { selector: ({ id }) => id }), sort, (rows, by) => {
      const members = rows as Partial<Row>[]
      expect(sorted(by, members.toReversed())).toEqual(sorted(by, members))
    }),
  )
})

test('formats what it parses, and any other text is the default', () => {
  for (const { name } of columns) for (const text of [name, `-${name}`]) expect(formatSort(parseSort(text))).toBe(text)
  for (const text of ['', '-', 'toString', 'AGE', '--age']) expect(formatSort(parseSort(text))).toBe('')
})

test('shows the main columns first, and sorts the labels of a world', () => {
  expect(columns.filter(({ isShownFirst }) => isShownFirst).map(({ name }) => name)).toEqual([
    'name',
    'phase',
    'reason',
    'profile',
    'place',
    'map',
    'players',
    'address',
    'age',
  ])
  expect(labelsOf(aRow({ labels: { b: '2', a: '1' } }))).toEqual(['a=1', 'b=2'])
})

test.each([
  [{ players: 12, capacity: 50 }, '12 of 50'],
  [{ players: 0, capacity: 1_000 }, '0 of 1,000'],
  [{ players: 50, capacity: 50, queued: 3 }, '50 of 50, 3 wait'],
  [{ players: undefined }, '—'],
  [{ players: undefined, phase: 'Stopped' }, ''],
  [{ players: undefined, phase: 'Starting' }, ''],
] as const)('shows the players of %j as "%s"', (row, expected) => {
  expect(playersOf(aRow(row))).toBe(expected)
})
