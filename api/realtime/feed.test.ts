import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { platform } from '#api/domain/access/claims.ts'
import type { ScopeIds } from '#api/domain/access/scope.ts'
import { type Clock, systemClock } from '#shared/clock.ts'
import { createFakeClock, type FakeClock } from '#test/support/fakeClock.ts'
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
  restarts: 0,
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

/** Advances a fake clock, and runs everything that is due. */
const pass = async (clock: FakeClock, ms: number): Promise<void> => {
  for (let passed = 0; passed < ms; passed += 10) {
    clock.advance(10)
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  }
}
const changeOf = (id: string, type: 'world' | 'worldCounts') =>
  ({ ...aScope, projectId: feedId, type, id, userId: '', data: undefined, versionMs: 1, ageMs: 0 }) as const

/** Follows worlds with a fake clock. `heard` has the ids and the players of each message after the snapshot. */
const followCounts = async (worlds: FeedWorld[], fitting = feedPageSize) => {
  const clock = createFakeClock()
  const { hub, connect } = createTestFeed(worlds, clock, fitting)
  const { connection, messages } = connect(scope)
  hub.subscribe(connection, { type: 'worlds', id: feedId })
  await pass(clock, 3_000)
  const before = messages().length
  return {
    pass: (ms: number) => pass(clock, ms),
    count: (at: number, players: number): void => {
      const worldId = `${worlds[at]?.worldId}`
      worlds[at] = { ...world(worldId), players } as FeedWorld
      hub.publish([changeOf(worldId, 'worldCounts')], clock.monotonic())
    },
    change: (at: number): void => hub.publish([changeOf(`${worlds[at]?.worldId}`, 'world')], clock.monotonic()),
    heard: () =>
      messages()
        .slice(before)
        .map(({ data }) => (data as { worlds: { worldId: string; players?: number }[] }).worlds)
        .map((each) => each.map(({ worldId, players }) => [worldId, players])),
  }
}

test('delivers the newest counts of a world once in two seconds, and a changed state at once', async () => {
  const feed = await followCounts([world('a'), world('b')])
  feed.count(0, 1)
  await feed.pass(1_000)
  feed.count(0, 2)
  feed.change(1)
  await feed.pass(50)
  expect(feed.heard()).toEqual([[['b', undefined]]])
  await feed.pass(940)
  expect(feed.heard()).toHaveLength(1)
  await feed.pass(300)
  expect(feed.heard().slice(1)).toEqual([[['a', 2]]])
  feed.count(0, 3)
  feed.change(0)
  await feed.pass(50)
  expect(feed.heard().slice(2)).toEqual([[['a', 3]]])
  await feed.pass(10_000)
  expect(feed.heard()).toHaveLength(3)
})

test('delivers the counts of many worlds in parts, each once', async () => {
  const feed = await followCounts(Array.from({ length: 1_000 }, (_, at) => world(`world-${at}`)))
  for (let at = 0; at < 1_000; at += 1) feed.count(at, at)
  await feed.pass(2_500)
  expect(feed.heard().flat().length).toBeLessThan(400)
  await feed.pass(1_800)
  const heard = feed.heard()
  expect(Math.max(...heard.map((each) => each.length))).toBeLessThanOrEqual(feedPageSize)
  expect(heard.flat()).toEqual(Array.from({ length: 1_000 }, (_, at) => [`world-${at}`, at]))
})

test('delivers a changed state before the counts of other worlds that wait', async () => {
  const feed = await followCounts(
    Array.from({ length: 300 }, (_, at) => world(`world-${at}`)),
    2,
  )
  for (let at = 0; at < 300; at += 1) feed.count(at, at)
  await feed.pass(2_500)
  const before = feed.heard().length
  for (const at of [130, 299]) feed.change(at)
  await feed.pass(50)
  const told = feed.heard().slice(before).flat()
  expect(told).toContainEqual(['world-299', 299])
  await feed.pass(10_000)
  expect(feed.heard().flat()).toHaveLength(300)
})

test.each(['world', 'worldCounts'] as const)(
  'a change of a %s that a slow client cannot get does not begin its snapshot again, and is in the next one',
  async (type) => {
    const clock = createFakeClock()
    const worlds = Array.from({ length: 3 * feedPageSize }, (_, at) => world(`world-${at}`))
    const { hub, connect } = createTestFeed(worlds, clock)
    const { connection, messages, fill, drain } = connect(scope)
    const heard = () => messages().map(({ data }) => data as { worlds: FeedWorld[]; snapshot?: { isFirst: boolean } })
    hub.subscribe(connection, { type: 'worlds', id: feedId })
    await eventually('the first page', async () => heard().length === 1)
    for (let at = 0; at < 2; at += 1) {
      fill(1_000_000)
      hub.flush(connection, 0)
      worlds[0] = { ...world('world-0'), players: at } as FeedWorld
      hub.publish([changeOf('world-0', type)], clock.monotonic())
      await pass(clock, 3_000)
      expect(heard()).toHaveLength(1)
    }
    drain()
    await pass(clock, 1_000)
    expect(heard().map(({ snapshot }) => snapshot?.isFirst)).toEqual([true, false, false, true, false, false])
    expect(heard()[3]?.worlds[0]).toMatchObject({ players: 1 })
  },
)
