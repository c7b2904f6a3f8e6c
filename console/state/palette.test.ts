import { describe, expect, test } from 'vitest'
import { toCandidates } from './findWorlds.ts'
import { entriesFor, entryAfter, firstChoice, type Offered } from './palette.ts'
import { aRow } from './testing/row.ts'

const administrator = { kind: 'key', permissions: ['organizations/org-1/**:*'], claims: {} } as const
const reader = { kind: 'key', permissions: ['organizations/org-1/**:r'], claims: {} } as const

const offered = (members: Partial<Offered> = {}): Offered => ({
  credential: administrator,
  organizationId: 'org-1',
  fleetProject: '',
  world: undefined,
  isActing: false,
  worlds: [],
  organizations: undefined,
  lostEdits: 0,
  ...members,
})
const world = { id: 'world-1', projectId: 'project-1', name: 'Lobby', phase: 'Active' } as const

/** Returns the titles and labels that a search shows. */
const shown = (text: string, members: Partial<Offered> = {}): Record<string, string[]> =>
  Object.fromEntries(
    entriesFor(text, offered(members)).map(({ title, entries }) => [title, entries.map(({ label }) => label)]),
  )
const entry = (label: string, members: Partial<Offered>) =>
  entriesFor('', offered(members))
    .flatMap(({ entries }) => entries)
    .find((each) => each.label === label)

test('offers the pages of the organization and the tabs and actions of the present world, but no deletion', () => {
  const pages = ['Worlds', 'Launch', 'Usage', 'Projects', 'Keys', 'Webhooks', 'Deleted', 'Audit']
  expect(shown('')).toEqual({ Pages: pages, Console: ['Copy a link', 'Sign out'] })
  expect(shown('', { world, worlds: toCandidates([aRow()]) })).toEqual({
    'This world': ['Now', 'Runs', 'Logs', 'Events', 'Settings', 'History'],
    Pages: pages,
    Actions: ['Restart', 'Stop'],
    Console: ['Copy a link', 'Sign out'],
  })
  expect(shown('', { world: { ...world, phase: undefined } })).not.toHaveProperty('Actions')
})

test('offers the actions that the phase permits', () => {
  expect(shown('', { world: { ...world, phase: 'Stopped' } }).Actions).toEqual(['Start'])
  expect(shown('', { world: { ...world, phase: 'Asleep' } }).Actions).toEqual(['Start', 'Wake', 'Stop'])
})

test('offers no page of an organization before one is chosen', () => {
  const organizations = [
    { documentId: 'org-1', name: 'Acme' },
    { documentId: 'org-2', name: 'Beta' },
  ]
  expect(shown('', { organizationId: '', organizations })).toEqual({
    Organizations: ['All organizations', 'Acme', 'Beta'],
    Console: ['Copy a link', 'Sign out'],
  })
  expect(shown('', { organizations }).Organizations).toEqual(['All organizations', 'Beta'])
  expect(shown('org-2', { organizations })).toEqual({ Organizations: ['Beta'] })
})

test('offers the pages of the platform to its key alone', () => {
  const platform = { kind: 'platform', permissions: ['*'], claims: {} } as const
  expect(shown('', { organizationId: '', credential: platform }).Platform).toEqual(['Clusters', 'Findings', 'Doctor'])
  expect(shown('', { organizationId: '' })).not.toHaveProperty('Platform')
  expect(entry('Doctor', { credential: platform, world })?.deed).toMatchObject({
    to: { page: 'doctor', organizationId: '', projectId: '', worldId: '' },
  })
})

describe('an entry that acts', () => {
  const chosen = (text: string, members: Partial<Offered> = {}): string | undefined =>
    firstChoice(text, entriesFor(text, offered({ world, ...members })))?.label
  const stopped = { ...world, phase: 'Stopped' } as const
  test.each([
    ['sto', { name: 'old-stories' }, world],
    ['st', { name: 'east-1' }, stopped],
    ['rest', { name: 'Plaza', labels: { team: 'rest' } }, world],
    ['sign', { name: 'big-signal' }, world],
    ['sign', { name: 'Plaza', address: 'sign.example:1' }, world],
  ])('is behind a world of which %s is a part', (text, row, present) => {
    const worlds = toCandidates([aRow(row)])
    expect(chosen(text, { world: present, worlds })).toBe(row.name)
    expect(Object.keys(shown(text, { world: present, worlds })).at(-1)).toMatch(/Actions|Console/)
  })
  test('is the first choice when its label is the text', () => {
    const worlds = toCandidates([aRow({ name: 'Stopover' })])
    expect(chosen('stop', { worlds })).toBe('Stop')
    expect(chosen(' Sign  OUT')).toBe('Sign out')
  })
  test.each(['resta', 'stop lobby', 'sign'])('is no first choice for %s before the worlds are loaded', (text) => {
    expect(Object.keys(shown(text, { world }))).toHaveLength(1)
    expect(chosen(text)).toBeUndefined()
  })
  test('is not found by the name of its world alone', () => {
    expect(shown('lobby', { world })).toEqual({})
  })
  test('names its world', () => {
    expect(entry('Stop', { world })?.deed).toEqual({ kind: 'act', action: 'stop', worldId: 'world-1' })
  })
})

test('shows at most eight entries of a group, and says where the words are', () => {
  const rows = Array.from({ length: 20 }, (_, index) => aRow({ id: `w-${index}`, labels: { team: 'events' } }))
  const [found] = entriesFor('events', offered({ worlds: toCandidates(rows) }))
  expect(found?.entries).toHaveLength(8)
  expect(found?.entries[0]).toMatchObject({
    label: 'Lobby',
    detail: 'team=events',
    deed: { kind: 'go', to: { projectId: 'project-1', worldId: 'w-0', tab: 'now' } },
  })
})

test('offers to filter the worlds by a text that more of them have than are shown, or that is a filter', () => {
  const rows = (count: number) =>
    toCandidates(Array.from({ length: count }, (_, index) => aRow({ id: `w-${index}`, name: `Quarry ${index}` })))
  expect(shown('quarry', { worlds: rows(8) })).not.toHaveProperty('Filter')
  expect(shown('quarry', { worlds: rows(9) }).Filter).toEqual(['Filter the worlds by quarry'])
  expect(Object.keys(shown('quarry', { worlds: rows(9) }))).toEqual(['Worlds', 'Filter'])
  const [found] = entriesFor(' label:team=events -phase:Error ', offered({ fleetProject: 'project-1', world }))
  expect(found?.entries).toEqual([
    {
      id: 'filter',
      label: 'Filter the worlds by label:team=events -phase:Error',
      deed: {
        kind: 'go',
        to: {
          page: 'fleet',
          projectId: 'project-1',
          worldId: '',
          tab: 'now',
          run: '',
          filter: 'label:team=events -phase:Error',
        },
      },
    },
  ])
  expect(shown('phase:Error', { organizationId: '' })).not.toHaveProperty('Filter')
})

test('refuses what the credential does not permit, with the permission that it needs', () => {
  const members = { credential: reader, world }
  expect(entry('Stop', members)?.refusal).toContain('world-1:w')
  expect(entry('Logs', members)?.refusal).toContain('world-1:w')
  expect(entry('History', members)?.refusal).toContain('org-1:*')
  expect(entry('Keys', members)?.refusal).toBeUndefined()
  expect(entry('Stop', { world })?.refusal).toBeUndefined()
  expect(entry('Stop', { world, isActing: true })?.refusal).toBe('The last action is not done yet')
})

test('keeps the project for the fleet and the launch only', () => {
  const go = (label: string) => entry(label, { fleetProject: 'project-1', world })?.deed
  expect(go('Launch')).toMatchObject({ to: { page: 'launch', projectId: 'project-1', worldId: '' } })
  expect(go('Keys')).toMatchObject({ to: { page: 'keys', projectId: '', worldId: '' } })
})

test('says how many edits a sign-out loses', () => {
  expect(shown('sign out', { lostEdits: 2 }).Console).toEqual(['Sign out and lose 2 edits'])
})

test('goes around with the arrows', () => {
  expect([entryAfter(2, 'ArrowDown', 3), entryAfter(0, 'ArrowUp', 3), entryAfter(-1, 'ArrowDown', 3)]).toEqual([
    0, 2, 0,
  ])
  expect([entryAfter(-1, 'ArrowUp', 3), entryAfter(0, 'ArrowDown', 0), entryAfter(0, 'a', 3)]).toEqual([
    2,
    undefined,
    undefined,
  ])
})
