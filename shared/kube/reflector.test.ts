import { expect, test } from 'vitest'
import { type Clock, systemClock } from '#shared/clock.ts'
import { endedStream, json, openStream, refuse } from './testing/scriptedServer.ts'
import { eventually, requestsOf, startReflector } from './testing/startReflector.ts'
import { bookmark, event, listOf, thing } from './testing/things.ts'

test('lists the objects, and then watches from the version of the list', async () => {
  const { server, cache, changes } = await startReflector({
    lists: [json(listOf('7', [thing('a', '1', { owner: 'x' }), thing('b', '2')]))],
    watches: [
      openStream(
        event('MODIFIED', thing('a', '8')),
        event('ADDED', thing('c', '9')),
        event('DELETED', thing('b', '10')),
      ),
    ],
    namespace: 'home',
    labelSelector: 'x=y',
  })
  await eventually(() => expect(changes).toHaveLength(5))
  expect(changes).toEqual([
    'list: added a@1',
    'list: added b@2',
    'watch: updated a@8',
    'watch: added c@9',
    'watch: deleted b@10',
  ])
  expect(cache.store.list().map(({ metadata }) => metadata.name)).toEqual(['a', 'c'])
  expect([server.lists()[0], server.watches()[0]]).toMatchObject([
    { path: '/apis/example.test/v1/namespaces/home/things', query: { limit: '500', labelSelector: 'x=y' } },
    {
      path: '/apis/example.test/v1/namespaces/home/things',
      query: { resourceVersion: '7', labelSelector: 'x=y', allowWatchBookmarks: 'true', timeoutSeconds: '300' },
    },
  ])
})

test('rejects a wait for the first list after its timeout', async () => {
  const { cache } = await startReflector({ lists: Array.from({ length: 99 }, () => refuse(403, 'Forbidden')) })
  await expect(cache.synced({ timeoutMs: 20 })).rejects.toThrow('things: no full list was read within 20 ms')
  await expect(cache.synced({ timeoutMs: 60_000, signal: AbortSignal.abort() })).rejects.toThrow('no full list')
})

test('opens the next watch at once when the server ends one at its timeout', async () => {
  let nowMs = 0
  const clock: Clock = { ...systemClock, monotonic: () => (nowMs += 1_000) }
  const { server, warnings } = await startReflector({
    lists: [json(listOf('7', []))],
    watches: [endedStream(), endedStream(bookmark('9'))],
    clock,
  })
  await eventually(() => expect(requestsOf(server)).toEqual({ lists: 1, watches: ['7', '7', '9'] }))
  expect(warnings).toEqual([])
})

test('reports an object that returns with another uid as deleted and added', async () => {
  const { changes } = await startReflector({
    lists: [json(listOf('7', [thing('a', '1')]))],
    watches: [openStream(event('MODIFIED', thing('a', '8', { uid: 'other' })))],
  })
  await eventually(() => expect(changes).toEqual(['list: added a@1', 'watch: deleted a@1', 'watch: added a@8']))
})

test('lets a writer wait until the cache contains its write', async () => {
  const { server, cache } = await startReflector({ lists: [json(listOf('7', []))] })
  await cache.synced({ timeoutMs: 60_000 })
  await eventually(() => expect(server.watches()).toHaveLength(1))
  expect(await cache.waitForVersion('7', { timeoutMs: 0 })).toBe(true)
  expect(await cache.waitForVersion('8', { timeoutMs: 5 })).toBe(false)
  const waiting = cache.waitForVersion('8', { timeoutMs: 60_000 })
  server.send(event('ADDED', thing('a', '8')))
  expect(await waiting).toBe(true)
  expect(cache.store.get('home/a')?.metadata.resourceVersion).toBe('8')
})

test('continues when a listener throws, and calls the other listeners', async () => {
  const { cache, changes, warnings } = await startReflector({ lists: [json(listOf('7', [thing('a', '1')]))] })
  cache.onChange(() => {
    throw new Error('a bug')
  })
  const later: string[] = []
  cache.onChange(({ key }) => later.push(key))
  await eventually(() => expect([changes, later]).toEqual([['list: added a@1'], ['home/a']]))
  expect(warnings).toMatchObject([{ err: { message: 'a bug' } }])
})

test('calls list listeners once the store has the list, and drops managedFields', async () => {
  const withManagedFields = { ...thing('a', '8'), metadata: { ...thing('a', '8').metadata, managedFields: [{}] } }
  const { cache, changes } = await startReflector({
    lists: [json(listOf('7', [thing('b', '1')]))],
    watches: [openStream(event('ADDED', withManagedFields))],
  })
  const sizes: number[] = []
  cache.onList(() => sizes.push(cache.store.size))
  await eventually(() => expect(changes).toHaveLength(2))
  expect(sizes).toEqual([1])
  expect(cache.store.get('home/a')).toEqual(thing('a', '8'))
})

test('stores only the part of listed and watched objects that keep returns', async () => {
  const { cache, changes } = await startReflector({
    keep: ({ spec: _, ...rest }) => rest,
    lists: [json(listOf('7', [{ ...thing('b', '1'), spec: { size: 1 } }]))],
    watches: [openStream(event('ADDED', { ...thing('a', '8'), spec: { size: 2 } }))],
  })
  await eventually(() => expect(changes).toHaveLength(2))
  expect([cache.store.get('home/a'), cache.store.get('home/b')]).toEqual([thing('a', '8'), thing('b', '1')])
})

test('stops at once during a watch, a list or a backoff', async () => {
  const watching = await startReflector({ lists: [json(listOf('7', []))] })
  await watching.cache.synced({ timeoutMs: 60_000 })
  const listing = await startReflector({ lists: [() => {}] })
  await eventually(() => expect(listing.server.lists()).toHaveLength(1))
  const waiting = await startReflector({
    lists: [refuse(403, 'Forbidden')],
    timing: { firstBackoffMs: 60_000, maxBackoffMs: 60_000 },
  })
  await eventually(() => expect(waiting.warnings).toHaveLength(1))
  for (const { stop, running } of [watching, listing, waiting]) {
    stop.abort()
    await running
  }
})

test('takes an optional kind that the API server does not have for an empty one, until it has it', async () => {
  const { cache, changes, warnings } = await startReflector({
    lists: [
      refuse(404, 'NotFound'),
      refuse(404, 'NotFound'),
      json(listOf('7', [thing('a', '1')])),
      refuse(404, 'NotFound'),
      json(listOf('9', [thing('a', '8', { uid: 'other' })])),
    ],
    watches: [refuse(404, 'NotFound')],
    isOptional: true,
  })
  await cache.synced({ timeoutMs: 60_000 })
  await eventually(() => expect(changes).toEqual(['list: added a@1', 'list: deleted a@1', 'list: added a@8']))
  expect([cache.isServed(), warnings]).toEqual([true, []])
})

test('does not hold up others for an optional kind that it may not list, and warns until it may', async () => {
  const { cache, changes, warnings } = await startReflector({
    lists: [refuse(403, 'Forbidden'), refuse(403, 'Forbidden'), json(listOf('7', [thing('a', '1')]))],
    isOptional: true,
  })
  await cache.synced({ timeoutMs: 60_000 })
  await eventually(() => expect(changes).toEqual(['list: added a@1']))
  expect([cache.isServed(), warnings.length]).toEqual([true, 2])
})

test('retries a kind that must exist with a warning', async () => {
  const { cache, warnings } = await startReflector({ lists: Array.from({ length: 99 }, () => refuse(404, 'NotFound')) })
  await eventually(() => expect(warnings.length).toBeGreaterThan(1))
  expect([cache.hasSynced(), cache.isServed()]).toEqual([false, false])
})
