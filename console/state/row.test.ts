import { expect, test } from 'vitest'
import type { FeedWorld } from '#client/realtime/resource.ts'
import { addressOf, type Condition, toRow } from './row.ts'

type Status = FeedWorld['status']

const condition = (type: Condition['type'], status: Condition['status'], reason: string): Condition => ({
  type,
  status,
  reason,
  message: `About ${reason}.`,
  lastTransitionAt: '2026-01-02T03:04:05.000Z',
})

const statusOf = (phase: Status['phase'], ...conditions: Condition[]): Status => ({ phase, message: '', conditions })

const aWorld = (status: Status): FeedWorld => ({
  worldId: 'wld-1',
  projectId: 'proj-1',
  version: '0001',
  name: 'Lobby',
  createdAt: '2026-01-01T00:00:00.000Z',
  labels: { team: 'events' },
  profile: 'Capacity10',
  group: 'production',
  region: 'Europe',
  mapName: 'island',
  capacity: 10,
  restarts: 0,
  status,
})

test('shows a world of a feed of the previous version, which lacks its settings', () => {
  const { worldId, projectId, version, name } = aWorld(statusOf('Active'))
  const older = { worldId, projectId, version, name, status: statusOf('Active') } as FeedWorld
  expect(toRow(older)).toMatchObject({
    name: 'Lobby',
    labels: {},
    profile: '',
    mapName: '',
    capacity: 0,
    players: undefined,
    queued: 0,
    restarts: 0,
    createdAtMs: 0,
  })
})

test('has the members of the world, and no reason for a running world without a problem', () => {
  const status: Status = {
    ...statusOf('Active', condition('Ready', 'True', 'ServerReady'), condition('Degraded', 'False', 'AsExpected')),
    message: 'It runs.',
    address: { host: '10.0.0.1', port: 7777 },
    resolvedBuild: { organizationId: 'org-1', id: 'build-1', channelId: 'stable', tag: '1.2' },
  }
  expect(toRow({ ...aWorld(status), players: 4, queued: 1, restarts: 2 })).toEqual({
    id: 'wld-1',
    projectId: 'proj-1',
    version: '0001',
    name: 'Lobby',
    phase: 'Active',
    message: 'It runs.',
    reason: '',
    reasonSinceMs: 0,
    profile: 'Capacity10',
    group: 'production',
    region: 'Europe',
    mapName: 'island',
    build: 'stable:1.2',
    address: '10.0.0.1:7777',
    capacity: 10,
    players: 4,
    queued: 1,
    restarts: 2,
    createdAtMs: Date.parse('2026-01-01T00:00:00.000Z'),
    startedAtMs: 0,
    readySinceMs: Date.parse('2026-01-02T03:04:05.000Z'),
    labels: { team: 'events' },
  })
  expect(toRow(aWorld(statusOf('Inactive')))).toMatchObject({ build: '', address: '', reason: '' })
})

const notReady = condition('Ready', 'False', 'AddressPending')
const refused = condition('Synced', 'False', 'EditRefused')
const degraded = condition('Degraded', 'True', 'CrashLoop')

test.each([
  ['Degraded before all others', 'Error', [notReady, refused, degraded], 'CrashLoop'],
  ['Ready before an old refused edit', 'Starting', [notReady, refused], 'AddressPending'],
  ['Synced of a world that does not run', 'Inactive', [refused], 'EditRefused'],
  ['Ready of a world that starts', 'Starting', [notReady], 'AddressPending'],
  ['Ready of a failed world', 'Error', [notReady], 'AddressPending'],
  ['nothing of Ready when the world is stopped', 'Stopped', [condition('Ready', 'False', 'Stopped')], ''],
  ['nothing of Ready when the run is over', 'Stopped', [condition('Ready', 'False', 'Expired')], ''],
  ['Ready of a world that restarts', 'Active', [condition('Ready', 'False', 'ServerDeleted')], 'ServerDeleted'],
  ['nothing of conditions that hold no problem', 'Active', [condition('Synced', 'True', 'Synced')], ''],
] as const)('takes the reason from %s', (_, phase, conditions, reason) => {
  const status = statusOf(phase, ...conditions)
  const since = reason === '' ? 0 : Date.parse('2026-01-02T03:04:05.000Z')
  expect(toRow(aWorld(status))).toMatchObject({ reason, reasonSinceMs: since })
})

test.each([
  ['2026-01-02T03:00:00.000Z', '2026-01-02T03:04:05.000Z'],
  ['2026-01-02T03:07:00.000Z', '2026-01-02T03:07:00.000Z'],
])('with a run of %s, has the reason since %s', (startedAt, since) => {
  const status = { ...statusOf('Starting', notReady), startedAt }
  expect(toRow(aWorld(status)).reasonSinceMs).toBe(Date.parse(since))
})

test('takes the first WebSocket URL as the address, else host and port', () => {
  const game = { name: 'game', protocol: 'UDP', host: '10.0.0.1', port: 7777 } as const
  const web = { name: 'web', protocol: 'TCP', host: 'lobby.example', port: 443, url: 'wss://lobby.example/' } as const
  const status: Status = { ...statusOf('Active'), address: game, addresses: [game] }
  expect(addressOf(status)).toBe('10.0.0.1:7777')
  expect(addressOf({ ...status, addresses: [game, web, { ...web, url: 'wss://other.example/' }] })).toBe(web.url)
  expect(addressOf(statusOf('Starting'))).toBe('')
})
