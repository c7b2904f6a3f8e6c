import { afterEach, expect, test } from 'vitest'
import { createClient } from './client.ts'
import { isConflict, isNotFound } from './errors.ts'
import { type Answer, endedStream, json, refuse, startScriptedServer } from './testing/scriptedServer.ts'
import { listOf, type Thing, thing, things } from './testing/things.ts'
import { createTransport } from './transport.ts'

const cleanups: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const startClient = async (script: { lists?: Answer[]; others?: Answer[] }) => {
  const server = await startScriptedServer(script)
  const transport = createTransport({ credentials: server.credentials, userAgent: 'tests' })
  cleanups.push(server.close, transport.close)
  return { server, client: createClient<Thing>(transport, things) }
}

const withExtraFields = (object: Thing) => ({
  ...object,
  extra: { kept: true },
  metadata: { ...object.metadata, managedFields: [{}] },
})
const tooLarge = endedStream(Buffer.alloc(33 * 1024 * 1024, ' '))
const path = '/apis/example.test/v1/namespaces/home/things'

test('keeps unknown fields of an object and drops managedFields', async () => {
  const { client } = await startClient({ others: [json(withExtraFields(thing('a', '1')))] })
  expect(await client.get({ namespace: 'home', name: 'a' })).toEqual({ ...thing('a', '1'), extra: { kept: true } })
})

test('lists in pages and sets apiVersion and kind of each item', async () => {
  const { server, client } = await startClient({
    lists: [json(listOf('7', [withExtraFields(thing('a', '1'))], 'more')), json(listOf('7', [thing('b', '2')]))],
  })
  const list = await client.list({ namespace: 'home', labelSelector: 'x=y' })
  expect(list).toEqual({ resourceVersion: '7', items: [thing('a', '1'), thing('b', '2')] })
  expect(server.received.map(({ path: at, query }) => [at, query])).toEqual([
    [path, { limit: '500', labelSelector: 'x=y' }],
    [path, { limit: '500', labelSelector: 'x=y', continue: 'more' }],
  ])
})

test('retries a page over 32 MiB with a smaller limit, which grows again for the next pages', async () => {
  const { server, client } = await startClient({
    lists: [
      tooLarge,
      tooLarge,
      json(listOf('7', [thing('a', '1')], 'more')),
      json(listOf('7', [thing('b', '2')], 'most')),
      json(listOf('7', [thing('c', '3')])),
    ],
  })
  const { items } = await client.list()
  expect(items.map(({ metadata }) => metadata.name)).toEqual(['a', 'b', 'c'])
  expect(server.received.map(({ query }) => query)).toEqual([
    { limit: '500' },
    { limit: '125' },
    { limit: '32' },
    { limit: '64', continue: 'more' },
    { limit: '128', continue: 'most' },
  ])
})

test('fails with TooLarge when a single object is over 32 MiB', async () => {
  const { client } = await startClient({ lists: Array.from({ length: 9 }, () => tooLarge) })
  await expect(client.list()).rejects.toMatchObject({ reason: 'TooLarge' })
})

test('restarts a list whose continue token expires, at most twice, without duplicates', async () => {
  const [begun, expired] = [json(listOf('7', [thing('a', '1')], 'more')), refuse(410, 'Expired')]
  const { server, client } = await startClient({
    lists: [begun, expired, begun, expired, json(listOf('9', [thing('a', '1'), thing('b', '8')]))],
  })
  const list = await client.list()
  expect([list.resourceVersion, list.items.map(({ metadata }) => metadata.name)]).toEqual(['9', ['a', 'b']])
  expect(server.received).toHaveLength(5)
  const refusing = await startClient({ lists: [begun, expired, begun, expired, begun, expired, begun] })
  await expect(refusing.client.list()).rejects.toMatchObject({ status: 410 })
})

test('lists only the part of each object that keep returns', async () => {
  const { client } = await startClient({ lists: [json(listOf('7', [withExtraFields(thing('a', '1'))]))] })
  const { items } = await client.list({ keep: ({ apiVersion, kind, metadata }) => ({ apiVersion, kind, metadata }) })
  expect(items).toEqual([thing('a', '1')])
})

test('sends each write with its method, path, options and content type', async () => {
  const answer = json(thing('a', '2'))
  const { server, client } = await startClient({ others: [answer, answer, answer, answer, answer, answer] })
  const ref = { namespace: 'home', name: 'a' }
  const sent = { apiVersion: 'example.test/v1', kind: 'Thing', metadata: ref }
  await client.create(sent, { fieldManager: 'me' })
  await client.apply(sent, { fieldManager: 'me', force: true })
  await client.applyStatus(sent, { fieldManager: 'me' })
  await client.patch(ref, { metadata: { finalizers: [] } })
  await client.patch(ref, [{ op: 'remove', path: '/spec' }], { fieldManager: 'me' })
  const deletion = { uid: 'u', resourceVersion: '2', gracePeriodSeconds: 0 }
  expect(await client.delete(ref, deletion)).toBe('2')
  const seen = server.received.map((each) => [
    each.method,
    each.path,
    each.query,
    each.headers['content-type'],
    each.body,
  ])
  expect(seen).toEqual([
    ['POST', path, { fieldManager: 'me' }, 'application/json', sent],
    ['PATCH', `${path}/a`, { fieldManager: 'me', force: 'true' }, 'application/apply-patch+yaml', sent],
    ['PATCH', `${path}/a/status`, { fieldManager: 'me' }, 'application/apply-patch+yaml', sent],
    ['PATCH', `${path}/a`, {}, 'application/merge-patch+json', { metadata: { finalizers: [] } }],
    ['PATCH', `${path}/a`, { fieldManager: 'me' }, 'application/json-patch+json', [{ op: 'remove', path: '/spec' }]],
    [
      'DELETE',
      `${path}/a`,
      {},
      'application/json',
      {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        preconditions: { uid: 'u', resourceVersion: '2' },
        gracePeriodSeconds: 0,
      },
    ],
  ])
})

test('rejects the deletion of a missing object with NotFound and of a replaced object with Conflict', async () => {
  const { client } = await startClient({ others: [refuse(404, 'NotFound'), refuse(409, 'Conflict')] })
  const classify = (error: unknown) => [isNotFound(error), isConflict(error)]
  expect(await client.delete({ namespace: 'home', name: 'a' }).catch(classify)).toEqual([true, false])
  expect(await client.delete({ namespace: 'home', name: 'a' }, { uid: 'u' }).catch(classify)).toEqual([false, true])
})
