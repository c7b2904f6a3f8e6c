import { expect, test } from 'vitest'
import type { AuditRecord } from '#client/operations.ts'
import {
  fromFieldTime,
  maxRecords,
  mayGrow,
  nameOwn,
  placeOfResource,
  type RecordPage,
  toAuditQuery,
  toFieldTime,
  untilOlder,
  withNewest,
  withOlder,
} from './audit.ts'

const noFilter = { since: '', until: '', door: '', actor: '', action: '', resource: '' }

test('a filter that is not set is not in the query', () => {
  expect(toAuditQuery(noFilter)).toEqual({ query: {}, faults: [] })
  expect(toAuditQuery({ ...noFilter, door: 'cli', action: 'acceptCluster', since: '2026-11-28T14:00Z' })).toEqual({
    query: { door: 'cli', action: 'acceptCluster', since: '2026-11-28T14:00:00.000Z' },
    faults: [],
  })
})

test.each([
  [{ since: 'yesterday' }, 'The time "yesterday" of "since" is ignored. Write it like 2026-11-28T14:00:00Z.'],
  [{ since: '5' }, 'The time "5" of "since" is ignored.'],
  [{ since: '2026-11-28T14:00:00' }, 'The time "2026-11-28T14:00:00" of "since" is ignored.'],
  [{ since: '2026-13-28T14:00:00Z' }, 'The time "2026-13-28T14:00:00Z" of "since" is ignored.'],
  [{ until: '1969-12-31T23:59:59Z' }, 'The time "1969-12-31T23:59:59Z" of "until" is ignored.'],
  [{ until: '+010000-01-01T00:00:00Z' }, 'The time "+010000-01-01T00:00:00Z" of "until" is ignored.'],
  [{ door: 'toString' }, 'The origin "toString" is ignored, because it is none of rest, kubectl, cli, system.'],
])('what the API would refuse is ignored, and said: %o', (filter, fault) => {
  const { query, faults } = toAuditQuery({ ...noFilter, ...filter })
  expect(query).toEqual({})
  expect(faults).toEqual([expect.stringContaining(fault)])
})

test('times in the wrong order are said', () => {
  const { faults } = toAuditQuery({ ...noFilter, since: '2026-11-28T14:00Z', until: '2026-11-28T14:00Z' })
  expect(faults).toEqual(['No record can match, because "from" is not before "until".'])
})

test('a field for times shows an instant to the second, and keeps its milliseconds until it is edited', () => {
  const instant = '2026-11-28T14:00:05.123Z'
  const field = toFieldTime(instant)
  expect(field).toMatch(/^2026-11-2\dT\d\d:\d\d:05$/)
  expect(fromFieldTime(field, instant)).toBe(instant)
  expect(fromFieldTime(field, '')).toBe('2026-11-28T14:00:05.000Z')
  expect([toFieldTime(''), toFieldTime('never'), fromFieldTime('', instant), fromFieldTime('never', '')]).toEqual(
    Array(4).fill(''),
  )
})

test('a field for times is empty for all but an instant with a zone, in years that the API takes', () => {
  for (const text of [
    '5',
    '+275760-09-13T00:00:00Z',
    '2026-11-28T14:00:00',
    '28 Nov 2026 14:00 UTC',
    '1969-12-31T23:59:59Z',
  ])
    expect(toFieldTime(text), text).toBe('')
  expect(toFieldTime('2026-11-28T14:00:00+01:00')).toBe(toFieldTime('2026-11-28T13:00:00Z'))
  expect(toFieldTime('2026-11-28T14:00:00+01:00')).not.toBe('')
})

const worldId = `wld-${'0'.repeat(26)}`
const projectId = `prj-${'z'.repeat(26)}`
const ofAudit = { page: 'audit', projectId: '', worldId: '', tab: 'now' }

test.each([
  [worldId, projectId, { projectId, worldId, tab: 'now', run: '' }],
  [projectId, '', { page: 'fleet', projectId, worldId: '', tab: 'now', run: '' }],
  [worldId, '', { ...ofAudit, resource: worldId }],
  [`${projectId}/..`, projectId, { ...ofAudit, resource: `${projectId}/..` }],
  ['prj-/../../../../../openapi', projectId, { ...ofAudit, resource: 'prj-/../../../../../openapi' }],
  ['wld-..', projectId, { ...ofAudit, resource: 'wld-..' }],
] as const)('the resource %j leads to its own page only if it is an id', (id, ofProject, place) => {
  expect(placeOfResource(id, ofProject)).toEqual(place)
})

const record = (second: number): AuditRecord => ({
  id: `aud-${second}`,
  createdAt: new Date(second * 1_000).toISOString(),
  organizationId: 'org-1',
  door: 'rest',
  actor: { kind: 'platform' },
  action: 'patchWorld',
  resources: [],
  fields: [],
})
const page = (seconds: readonly number[], cursor?: string): RecordPage => ({
  records: seconds.map(record),
  ...(cursor !== undefined && { next: { cursor } }),
})

test('an older page follows the records, also when it is empty', () => {
  expect(withOlder(page([5, 4], 'a'), page([3], 'b'))).toEqual(page([5, 4, 3], 'b'))
  expect(withOlder(page([5, 4], 'a'), page([], 'b'))).toEqual(page([5, 4], 'b'))
  expect(withOlder(page([5, 4], 'a'), page([3]))).toEqual(page([5, 4, 3]))
})

test('new records come before those that are known, each once', () => {
  expect(withNewest(undefined, page([2, 1], 'a'))).toEqual(page([2, 1], 'a'))
  expect(withNewest(page([5, 3, 2], 'b'), page([6, 5, 4], 'a'))).toEqual(page([6, 5, 4, 3, 2], 'b'))
  expect(withNewest(page([5, 3, 2], 'b'), page([], 'a'))).toEqual(page([5, 3, 2], 'b'))
})

test('the list begins anew if it would have a gap, or if the page has everything', () => {
  expect(withNewest(page([3, 2], 'b'), page([9, 8], 'a'))).toEqual(page([9, 8], 'a'))
  expect(withNewest(page([3, 2], 'b'), page([3]))).toEqual(page([3]))
})

test('the list grows to its bound, from where an instant leads to the older records', () => {
  const full = page(
    Array.from({ length: maxRecords }, (_, index) => maxRecords - index),
    'a',
  )
  expect(mayGrow(full)).toBe(false)
  expect(mayGrow({ ...full, records: full.records.slice(1) })).toBe(true)
  expect(mayGrow(page([1]))).toBe(false)
  expect(untilOlder(full)).toBe('1970-01-01T00:00:01.001Z')
  const grown = withNewest(full, page([maxRecords + 1, maxRecords], 'b'))
  expect(grown.records.length).toBeLessThanOrEqual(maxRecords + 2)
  expect(mayGrow(grown)).toBe(false)
})

test.each([
  [{ kind: 'key', name: 'deploy' }, 'deploy (this key)'],
  [{ kind: 'key' }, 'this key'],
  [{ kind: 'platform' }, 'this key'],
  [{ kind: 'user', name: 'Ann' }, 'Ann (you)'],
  [{ kind: 'user' }, 'you'],
])('the credential %o is named as the author of its own changes', (credential, name) => {
  expect(nameOwn(credential)).toBe(name)
})
