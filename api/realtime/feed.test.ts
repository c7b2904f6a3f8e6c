import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { platform } from '#api/domain/access/claims.ts'
import type { ScopeIds } from '#api/domain/access/scope.ts'
import { type Clock, systemClock } from '#shared/clock.ts'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { aConnection, aScope, createFakePeer } from '#test/support/fakePeer.ts'
import { eventually } from '#test/support/wait.ts'
import { createFeed, feedPageSize } from './feed.ts'
import { createHub } from './hub.ts'
import { createRealtimeMetrics } from './metrics.ts'
import type { FeedWorld } from './protocol.ts'
import { topicKey } from './topic.ts'

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }
const log = { ...quiet, child: () => log }
const project = `organizations/${aScope.organizationId}/projects/${aScope.projectId}`
const feedId = `prj-${'0'.repeat(26)}`
const scope = { ...aScope, projectId: feedId }
const world = (worldId: string): FeedWorld => ({
  worldId,
  projectId: feedId,
  version: new Date(0).toISOString(),
  name: worldId,
  createdAt: new Date(0).toISOString(),
  labels: {},
  profile: 'Capacity30',
  group: 'production',
  region: 'Europe',
  mapName: '',
  capacity: 30,
  status: { phase: 'Inactive', message: '', conditions: [] },
})

/** The ids of projects that exist in every organization. */
const isPresent = (id: string): boolean => id === feedId || id.startsWith('prj-1')

/** Starts a feed over worlds that the test sets. It records the organizations whose pages are read. */
const createTestFeed = (worlds: readonly FeedWorld[] = [], clock: Clock = systemClock, fitting = feedPageSize) => {
  const pagesOf: string[] = []
  const sizes: number[] = []
  const metrics = createRealtimeMetrics(
    new Registry(),
    () => 0,
    () => 0,
  )
  const hub = createHub({
    metrics,
    read: (entry) => feed.read(entry),
    feedChanged: (entry, changed) => feed.change(entry, changed),
    restartFeed: (subscription) => feed.restart(subscription),
    repeat: () => undefined,
    keyChanged: () => undefined,
    scheduleFlush: (each) => hub.flush(each, 0),
    end: () => undefined,
  })
  const feed = createFeed({
    readPage: async ({ organizationId }, after, limit) => {
      pagesOf.push(organizationId)
      sizes.push(limit)
      const start = Number(after?.id ?? 0)
      const end = start + Math.min(limit, fitting)
      const next = end < worlds.length ? { createdAt: new Date(0), id: String(end) } : undefined
      return { worlds: worlds.slice(start, end), next }
    },
    readWorlds: async (_, changed) => {
      sizes.push(changed.length)
      return worlds.filter(({ worldId }) => changed.some(({ id }) => id === worldId)).slice(0, fitting)
    },
    readExisting: async (topics) => new Set(topics.filter(({ projectId }) => isPresent(projectId)).map(topicKey)),
    refuse: hub.refuseAbsent,
    scheduleFlush: (each) => hub.flush(each, 0),
    metrics,
    clock,
    log,
    signal: new AbortController().signal,
  })
  const connect = (connectionScope: ScopeIds, permissions: readonly string[] = ['*']) => {
    const fake = createFakePeer()
    const principal = { ...platform, permissions }
    return { ...fake, connection: { ...aConnection(fake.peer, { principal }), scope: connectionScope } }
  }
  return { hub, connect, pagesOf, sizes }
}

/** Starts a feed with one connection that is subscribed to a project. */
const startFeed = (permissions: readonly string[], worlds: readonly FeedWorld[]) => {
  const { hub, connect } = createTestFeed(worlds)
  const { connection, ...fake } = connect(scope, permissions)
  hub.subscribe(connection, { type: 'worlds', id: feedId })
  const heard = () =>
    fake
      .messages()
      .map(({ data, error }) => (data as { worlds: FeedWorld[] })?.worlds.map((each) => each.worldId) ?? error)
  return {
    ...fake,
    hub,
    connection,
    hears: (wanted: unknown[]) =>
      eventually('the messages', async () => JSON.stringify(heard()) === JSON.stringify(wanted)),
  }
}
const ofFeed = project.replace(aScope.projectId, feedId)

test('sends the snapshot again when the permissions change, and an error when none is left', async () => {
  const { hub, connection, hears } = startFeed([`${ofFeed}/worlds/a:r`], [world('a'), world('b')])
  await hears([['a']])
  hub.updatePermissions(connection, [`${ofFeed}/**:r`])
  await hears([['a'], ['a', 'b']])
  hub.updatePermissions(connection, [])
  await hears([['a'], ['a', 'b'], 'No permission'])
})

test('sends the snapshot again to a client that fell behind, once it has read', async () => {
  const { hub, connection, fill, drain, hears } = startFeed(['*'], [world('a'), world('b')])
  await hears([['a', 'b']])
  fill(1_000_000)
  hub.flush(connection, 0)
  const change = { ...aScope, projectId: feedId, type: 'world', id: 'a', userId: '', data: undefined } as const
  hub.publish([{ ...change, versionMs: 1, ageMs: 0 }], 0)
  await eventually('the client is behind', async () => connection.stale.length === 1)
  drain()
  await hears([
    ['a', 'b'],
    ['a', 'b'],
  ])
})

const idOf = (kind: 'absent' | 'present', at: number): string =>
  `prj-${kind === 'absent' ? 0 : 1}${String(at).padStart(25, '0')}`

test('refuses the feed of an absent project before it reads worlds, and keeps no subscription', async () => {
  const { hub, connect, pagesOf } = createTestFeed()
  const { connection, messages } = connect({ ...aScope, projectId: '' })
  for (let at = 1; at <= 100; at += 1) hub.subscribe(connection, { type: 'worlds', id: idOf('absent', at) })
  await eventually('the warnings', async () => messages().length === 100)
  expect(new Set(messages().map(({ warning }) => warning))).toEqual(new Set(['resource_not_found']))
  expect(connection.subscriptions).toEqual([])
  expect(pagesOf).toEqual([])
})

test('reads the feed of an organization in its turn, however many feeds another one requests', async () => {
  const { hub, connect, pagesOf } = createTestFeed()
  for (let socket = 0; socket < 8; socket += 1) {
    const { connection } = connect({ ...aScope, organizationId: 'org-1', projectId: '' })
    for (let at = 0; at < 125; at += 1) {
      hub.subscribe(connection, { type: 'worlds', id: idOf('present', socket * 125 + at) })
    }
  }
  await eventually('the first pages', async () => pagesOf.length > 0)
  const other = connect({ ...aScope, organizationId: 'org-2', projectId: '' })
  const before = pagesOf.length
  hub.subscribe(other.connection, { type: 'worlds', id: idOf('present', 1) })
  await eventually('the snapshot', async () => other.messages().length === 1)
  expect(pagesOf.indexOf('org-2') - before).toBeLessThan(48)
})

test.each([
  { subscribers: 1, pauseMs: 10 },
  { subscribers: 1_000, pauseMs: 20 },
  { subscribers: 2_000, pauseMs: 40 },
])('gathers changes for $pauseMs ms after a message to $subscribers subscribers', async ({ subscribers, pauseMs }) => {
  const clock = createFakeClock()
  const { hub, connect } = createTestFeed([world('a')], clock)
  const clients = Array.from({ length: subscribers }, () => connect(scope))
  for (const { connection } of clients) hub.subscribe(connection, { type: 'worlds', id: feedId })
  const haveHeard = (count: number) => clients.every(({ messages }) => messages().length === count)
  await eventually('the snapshots and the pauses after them', async () => haveHeard(1) && clock.pending === 2)
  const change = { ...aScope, projectId: feedId, type: 'world', id: 'a', userId: '', data: undefined } as const
  for (const versionMs of [1, 2]) hub.publish([{ ...change, versionMs, ageMs: 0 }], 0)
  clock.advance(pauseMs - 1)
  await new Promise((resolve) => setImmediate(resolve))
  expect(haveHeard(1)).toBe(true)
  clock.advance(1)
  await eventually('one message', async () => haveHeard(2))
})

test('starts the snapshot of a subscription at most once a second', async () => {
  const clock = createFakeClock()
  const { hub, connect, pagesOf } = createTestFeed([world('a')], clock)
  const { connection } = connect(scope)
  const resource = { type: 'worlds', id: feedId }
  const settle = async (pages: number) => {
    await eventually('the pages', async () => {
      clock.advance(10)
      return pagesOf.length >= pages
    })
  }
  hub.subscribe(connection, resource)
  await settle(1)
  for (let at = 0; at < 50; at += 1) {
    hub.subscribe(connection, resource)
    await settle(2)
  }
  expect(pagesOf).toHaveLength(2)
  clock.advance(1_000)
  await settle(3)
  expect(pagesOf).toHaveLength(3)
})

test('reads few worlds at once if few fit into a message, in the snapshot and after it', async () => {
  const worlds = Array.from({ length: 300 }, (_, at) => world(`world-${at}`))
  const { hub, connect, sizes } = createTestFeed(worlds, systemClock, 9)
  const { connection, messages } = connect(scope)
  hub.subscribe(connection, { type: 'worlds', id: feedId })
  const told = () =>
    messages().flatMap(({ data }) => (data as { worlds: FeedWorld[] }).worlds.map((each) => each.worldId))
  const sum = () => sizes.reduce((total, size) => total + size, 0)
  const all = worlds.map(({ worldId }) => worldId)
  await eventually('the snapshot', async () => told().length === 300)
  expect(told()).toEqual(all)
  expect(sum()).toBeLessThan(2 * 300 + feedPageSize)
  const change = { ...aScope, projectId: feedId, type: 'world', userId: '', data: undefined } as const
  const changes = worlds.map(({ worldId: id }) => ({ ...change, id, versionMs: 1, ageMs: 0 }))
  hub.publish(changes, 0)
  await eventually('the changes', async () => told().length === 600)
  expect(told().slice(300).toSorted()).toEqual(all.toSorted())
  expect(sum()).toBeLessThan(2 * 600 + feedPageSize)
})
