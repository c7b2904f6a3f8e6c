import { afterEach, expect, test, vi } from 'vitest'
import { type Clock, systemClock } from '#shared/clock.ts'
import { createClient } from './client.ts'
import { silentLog } from './log.ts'
import { createReflector, type ReflectorTiming } from './reflector.ts'
import { type Answer, ending, json, open, refuse, reset, startScriptedServer, torn } from './testing/scriptedServer.ts'
import { bookmark, event, failure, listOf, type Thing, thing, things } from './testing/things.ts'
import { createTransport } from './transport.ts'

const undo: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each()
})

type Setup = {
  lists?: Answer[]
  watches?: Answer[]
  clock?: Clock
  timing?: Partial<ReflectorTiming>
  namespace?: string
  labelSelector?: string
}

/** A cache that follows a scripted server, with waits of a few milliseconds. */
const aReflector = async ({ lists = [], watches = [], clock = systemClock, timing = {}, ...selection }: Setup) => {
  const server = await startScriptedServer({ lists, watches })
  const transport = createTransport({ credentials: server.credentials, userAgent: 'tests', random: () => 0 })
  const warned: { delayMs?: number; err?: { message: string } }[] = []
  const cache = createReflector({
    client: createClient<Thing>(transport, things),
    clock,
    random: () => 0,
    log: { ...silentLog, warn: (fields) => warned.push(fields), error: (fields) => warned.push(fields) },
    timing: { firstBackoffMs: 1, maxBackoffMs: 4, ...timing },
    indexers: { owner: ({ metadata }) => (metadata.labels?.owner === undefined ? [] : [metadata.labels.owner]) },
    ...selection,
  })
  const told: string[] = []
  cache.onChange(({ type, object, initial }) => {
    told.push(`${initial ? 'list' : 'watch'}: ${type} ${object.metadata.name}@${object.metadata.resourceVersion}`)
  })
  const stop = new AbortController()
  const running = cache.run(stop.signal)
  undo.push(server.close, transport.close, async () => {
    stop.abort()
    await running
  })
  return { server, cache, told, warned, stop, running }
}

const eventually = (look: () => void): Promise<void> => vi.waitFor(look, { timeout: 2_000, interval: 2 })
/** The versions from which the server was asked to list, and to watch. */
const asked = (server: Awaited<ReturnType<typeof aReflector>>['server']) => ({
  lists: server.lists().map(({ query }) => query.resourceVersion),
  watches: server.watches().map(({ query }) => query.resourceVersion),
})

test('a cache lists what the server has in its cache, and watches from there', async () => {
  const { server, cache, told } = await aReflector({
    lists: [json(listOf('7', [thing('a', '1', { owner: 'x' }), thing('b', '2')]))],
    watches: [
      open(event('MODIFIED', thing('a', '8')), event('ADDED', thing('c', '9')), event('DELETED', thing('b', '10'))),
    ],
    namespace: 'home',
    labelSelector: 'x=y',
  })
  await eventually(() => expect(told).toHaveLength(5))
  expect(told).toEqual([
    'list: added a@1',
    'list: added b@2',
    'watch: updated a@8',
    'watch: added c@9',
    'watch: deleted b@10',
  ])
  expect(cache.store.list().map(({ metadata }) => metadata.name)).toEqual(['a', 'c'])
  expect([server.lists()[0], server.watches()[0]]).toMatchObject([
    { path: '/apis/example.test/v1/namespaces/home/things', query: { resourceVersion: '0', labelSelector: 'x=y' } },
    {
      path: '/apis/example.test/v1/namespaces/home/things',
      query: { resourceVersion: '7', labelSelector: 'x=y', allowWatchBookmarks: 'true', timeoutSeconds: '300' },
    },
  ])
})

test('a list that fails is tried again until the cache is full', async () => {
  const { cache, told } = await aReflector({
    lists: [refuse(403, 'Forbidden'), refuse(403, 'Forbidden'), json(listOf('7', [thing('a', '1')]))],
  })
  expect([cache.hasSynced(), cache.silentMs()]).toEqual([false, Number.POSITIVE_INFINITY])
  await cache.synced({ timeoutMs: 2_000 })
  expect([cache.hasSynced(), told]).toEqual([true, ['list: added a@1']])
  expect(cache.silentMs()).toBeLessThan(2_000)
})

test('who waits for a cache that does not fill is told so', async () => {
  const { cache } = await aReflector({ lists: Array.from({ length: 99 }, () => refuse(403, 'Forbidden')) })
  await expect(cache.synced({ timeoutMs: 20 })).rejects.toThrow('things: the API server gave no full list within 20 ms')
  await expect(cache.synced({ timeoutMs: 2_000, signal: AbortSignal.abort() })).rejects.toThrow('no full list')
})

test('after a bookmark a broken watch goes on from it, without a list', async () => {
  const { server, told } = await aReflector({
    lists: [json(listOf('7', []))],
    watches: [
      torn(bookmark('20')),
      torn(event('ADDED', thing('a', '21')).slice(0, 30)),
      reset,
      open(event('ADDED', thing('a', '21'))),
    ],
  })
  await eventually(() => expect(told).toEqual(['watch: added a@21']))
  expect(asked(server)).toEqual({ lists: ['0'], watches: ['7', '20', '20', '20'] })
})

test.each([
  ['a refused watch', refuse(410, 'Expired')],
  ['an error event', open(failure(410, 'Expired'))],
])('a version that is too old makes a list of nothing older than what was seen: %s', async (_what, answer) => {
  const { server, told } = await aReflector({
    lists: [
      json(listOf('7', [thing('a', '1'), thing('b', '2')])),
      json(listOf('30', [thing('a', '1'), thing('c', '25')])),
    ],
    watches: [answer],
  })
  await eventually(() => expect(asked(server)).toEqual({ lists: ['0', '7'], watches: ['7', '30'] }))
  expect(told).toEqual(['list: added a@1', 'list: added b@2', 'list: deleted b@2', 'list: added c@25'])
})

test('a list whose version is refused too asks for the newest', async () => {
  const { server } = await aReflector({
    lists: [json(listOf('7', [])), refuse(410, 'Expired'), json(listOf('30', []))],
    watches: [refuse(410, 'Expired')],
  })
  await eventually(() => expect(asked(server)).toEqual({ lists: ['0', '7', undefined], watches: ['7', '30'] }))
})

test('a server that asks for fewer requests is given the time, and no list', async () => {
  const { server, told, warned } = await aReflector({
    lists: [json(listOf('7', []))],
    watches: [refuse(429, 'TooManyRequests', { 'retry-after': '0.03' }), open(event('ADDED', thing('a', '8')))],
  })
  await eventually(() => expect(told).toEqual(['watch: added a@8']))
  expect(asked(server)).toEqual({ lists: ['0'], watches: ['7', '7'] })
  expect(warned).toMatchObject([{ delayMs: 30 }])
})

test('a garbage line ends the watch and loses nothing', async () => {
  const { server, told } = await aReflector({
    lists: [json(listOf('7', []))],
    watches: [
      open(event('ADDED', thing('a', '8')), 'garbage\n', event('ADDED', thing('b', '9'))),
      open('{"type":"ADDED"}\n'),
      open(event('ADDED', thing('b', '9'))),
    ],
  })
  await eventually(() => expect(told).toEqual(['watch: added a@8', 'watch: added b@9']))
  expect(asked(server)).toEqual({ lists: ['0'], watches: ['7', '8', '8'] })
})

test('a watch that stays stuck at one place is helped by a list', async () => {
  const { server, cache } = await aReflector({
    lists: [json(listOf('7', [])), json(listOf('9', [thing('a', '9')]))],
    watches: [open('garbage\n'), open(failure(500, 'InternalError')), open('{}\n')],
  })
  await eventually(() => expect(asked(server)).toEqual({ lists: ['0', '7'], watches: ['7', '7', '7', '9'] }))
  expect(cache.store.size).toBe(1)
})

test('a connection that has died without a word is noticed by its silence', async () => {
  const { server, told } = await aReflector({
    lists: [json(listOf('7', []))],
    watches: [open(bookmark('8')), open(event('ADDED', thing('a', '9')))],
    timing: { idleTimeoutMs: 40 },
  })
  await eventually(() => expect(told).toEqual(['watch: added a@9']))
  expect(asked(server).watches.slice(0, 2)).toEqual(['7', '8'])
})

test('a watch that ends at once and brings nothing is a fault and not a hot loop', async () => {
  const { warned, told } = await aReflector({
    lists: [json(listOf('7', []))],
    watches: [ending(), open(event('ADDED', thing('a', '8')))],
  })
  await eventually(() => expect(told).toEqual(['watch: added a@8']))
  expect(warned).toMatchObject([{ err: { message: 'watch things: it ended at once and brought nothing' } }])
})

test('a watch that the server ends after its time goes on at once', async () => {
  let nowMs = 0
  const clock: Clock = { ...systemClock, monotonic: () => (nowMs += 1_000) }
  const { server, warned } = await aReflector({
    lists: [json(listOf('7', []))],
    watches: [ending(), ending(bookmark('9'))],
    clock,
  })
  await eventually(() => expect(asked(server)).toEqual({ lists: ['0'], watches: ['7', '7', '9'] }))
  expect(warned).toEqual([])
})

test('a name that comes back with another uid is a deletion and an addition', async () => {
  const { told } = await aReflector({
    lists: [json(listOf('7', [thing('a', '1')]))],
    watches: [open(event('MODIFIED', thing('a', '8', { uid: 'other' })))],
  })
  await eventually(() => expect(told).toEqual(['list: added a@1', 'watch: deleted a@1', 'watch: added a@8']))
})

test('a writer can wait until the cache has what it wrote', async () => {
  const { server, cache } = await aReflector({ lists: [json(listOf('7', []))] })
  await cache.synced({ timeoutMs: 2_000 })
  await eventually(() => expect(server.watches()).toHaveLength(1))
  expect(await cache.reached('7', { timeoutMs: 0 })).toBe(true)
  expect(await cache.reached('8', { timeoutMs: 5 })).toBe(false)
  const waiting = cache.reached('8', { timeoutMs: 2_000 })
  server.send(event('ADDED', thing('a', '8')))
  expect(await waiting).toBe(true)
  expect(cache.store.get('home/a')?.metadata.resourceVersion).toBe('8')
})

test('a listener that throws hurts neither the cache nor the others', async () => {
  const { cache, told, warned } = await aReflector({ lists: [json(listOf('7', [thing('a', '1')]))] })
  cache.onChange(() => {
    throw new Error('a bug')
  })
  const later: string[] = []
  cache.onChange(({ key }) => later.push(key))
  await eventually(() => expect([told, later]).toEqual([['list: added a@1'], ['home/a']]))
  expect(warned).toMatchObject([{ err: { message: 'a bug' } }])
})

test('full lists are told once the store has them, and managedFields are not kept', async () => {
  const noisy = { ...thing('a', '8'), metadata: { ...thing('a', '8').metadata, managedFields: [{}] } }
  const { cache, told } = await aReflector({
    lists: [json(listOf('7', [thing('b', '1')]))],
    watches: [open(event('ADDED', noisy))],
  })
  const sizes: number[] = []
  cache.onList(() => sizes.push(cache.store.size))
  await eventually(() => expect(told).toHaveLength(2))
  expect(sizes).toEqual([1])
  expect(cache.store.get('home/a')).toEqual(thing('a', '8'))
})

test('a stopped cache ends at once, in a watch, in a list and in a wait', async () => {
  const watching = await aReflector({ lists: [json(listOf('7', []))] })
  await watching.cache.synced({ timeoutMs: 2_000 })
  const listing = await aReflector({ lists: [() => {}] })
  await eventually(() => expect(listing.server.lists()).toHaveLength(1))
  const waiting = await aReflector({
    lists: [refuse(403, 'Forbidden')],
    timing: { firstBackoffMs: 60_000, maxBackoffMs: 60_000 },
  })
  await eventually(() => expect(waiting.warned).toHaveLength(1))
  for (const { stop, running } of [watching, listing, waiting]) {
    stop.abort()
    await running
  }
})
