import { expect, test } from 'vitest'
import { endedStream, json, openStream, refuse, reset, tornStream } from './testing/scriptedServer.ts'
import { eventually, requestsOf, startReflector } from './testing/startReflector.ts'
import { bookmark, event, failure, listOf, thing } from './testing/things.ts'

test('retries a failed list until the cache is full', async () => {
  const { cache, changes } = await startReflector({
    lists: [refuse(403, 'Forbidden'), refuse(403, 'Forbidden'), json(listOf('7', [thing('a', '1')]))],
  })
  expect([cache.hasSynced(), cache.silentMs()]).toEqual([false, Number.POSITIVE_INFINITY])
  await cache.synced({ timeoutMs: 60_000 })
  expect([cache.hasSynced(), changes]).toEqual([true, ['list: added a@1']])
  expect(cache.silentMs()).toBeLessThan(60_000)
})

test('resumes a broken watch from the last bookmark without a list', async () => {
  const { server, changes } = await startReflector({
    lists: [json(listOf('7', []))],
    watches: [
      tornStream(bookmark('20')),
      tornStream(event('ADDED', thing('a', '21')).slice(0, 30)),
      reset,
      openStream(event('ADDED', thing('a', '21'))),
    ],
  })
  await eventually(() => expect(changes).toEqual(['watch: added a@21']))
  expect(requestsOf(server)).toEqual({ lists: 1, watches: ['7', '20', '20', '20'] })
})

test.each([
  ['a refused watch', refuse(410, 'Expired')],
  ['an error event', openStream(failure(410, 'Expired'))],
])('lists again after an expired version and reports only differences: %s', async (_what, answer) => {
  const { server, changes } = await startReflector({
    lists: [
      json(listOf('7', [thing('a', '1'), thing('b', '2')])),
      json(listOf('30', [thing('a', '1'), thing('c', '25')])),
    ],
    watches: [answer],
  })
  await eventually(() => expect(requestsOf(server)).toEqual({ lists: 2, watches: ['7', '30'] }))
  expect(changes).toEqual(['list: added a@1', 'list: added b@2', 'list: deleted b@2', 'list: added c@25'])
})

test('resumes a throttled watch after its Retry-After without a list', async () => {
  const { server, changes, warnings } = await startReflector({
    lists: [json(listOf('7', []))],
    watches: [refuse(429, 'TooManyRequests', { 'retry-after': '0.03' }), openStream(event('ADDED', thing('a', '8')))],
  })
  await eventually(() => expect(changes).toEqual(['watch: added a@8']))
  expect(requestsOf(server)).toEqual({ lists: 1, watches: ['7', '7'] })
  expect(warnings).toMatchObject([{ delayMs: 30 }])
})

test('resumes after a malformed line without losing an event', async () => {
  const { server, changes } = await startReflector({
    lists: [json(listOf('7', []))],
    watches: [
      openStream(event('ADDED', thing('a', '8')), 'garbage\n', event('ADDED', thing('b', '9'))),
      openStream('{"type":"ADDED"}\n'),
      openStream(event('ADDED', thing('b', '9'))),
    ],
  })
  await eventually(() => expect(changes).toEqual(['watch: added a@8', 'watch: added b@9']))
  expect(requestsOf(server)).toEqual({ lists: 1, watches: ['7', '8', '8'] })
})

test('lists again after three failures at one position', async () => {
  const { server, cache } = await startReflector({
    lists: [json(listOf('7', [])), json(listOf('9', [thing('a', '9')]))],
    watches: [openStream('garbage\n'), openStream(failure(500, 'InternalError')), openStream('{}\n')],
  })
  await eventually(() => expect(requestsOf(server)).toEqual({ lists: 2, watches: ['7', '7', '7', '9'] }))
  expect(cache.store.size).toBe(1)
})

test('reopens a watch that is silent beyond its idle timeout', async () => {
  const { server, changes } = await startReflector({
    lists: [json(listOf('7', []))],
    watches: [openStream(bookmark('8')), openStream(event('ADDED', thing('a', '9')))],
    timing: { idleTimeoutMs: 1_000 },
  })
  await eventually(() => expect(changes).toEqual(['watch: added a@9']))
  expect(requestsOf(server).watches.slice(0, 2)).toEqual(['7', '8'])
})

test('treats a watch that ends at once without events as a failure', async () => {
  const { warnings, changes } = await startReflector({
    lists: [json(listOf('7', []))],
    watches: [endedStream(), openStream(event('ADDED', thing('a', '8')))],
  })
  await eventually(() => expect(changes).toEqual(['watch: added a@8']))
  expect(warnings).toMatchObject([{ err: { message: 'watch things: it ended at once without an event' } }])
})
