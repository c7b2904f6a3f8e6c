import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '#shared/clock.ts'
import { type Client, createClient, type ObjectInput } from '#shared/kube/client.ts'
import { loadCredentials } from '#shared/kube/config.ts'
import { createElection } from '#shared/kube/election.ts'
import { isAlreadyExists, isConflict, isNotFound } from '#shared/kube/errors.ts'
import { createEventRecorder, eventResource } from '#shared/kube/events.ts'
import { fenceTransport } from '#shared/kube/fence.ts'
import { type Lease, leaseResource } from '#shared/kube/lease.ts'
import { silentLog } from '#shared/kube/log.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { createReflector } from '#shared/kube/reflector.ts'
import { createTransport } from '#shared/kube/transport.ts'
import { getServers } from '#test/support/servers.ts'
import { eventually } from '#test/support/wait.ts'

type ConfigMap = KubeObject & { data?: Record<string, string> }

const transport = createTransport({
  credentials: loadCredentials({ KUBECONFIG: getServers().adminKubeconfig }),
  userAgent: 'kit-tests',
})
const resource = (plural: string, kind: string) => ({ group: '', version: 'v1', plural, kind })
const namespaces = createClient(transport, resource('namespaces', 'Namespace'))
const maps: Client<ConfigMap> = createClient(transport, resource('configmaps', 'ConfigMap'))
const namespace = `kit-${Date.now()}`
const as = { fieldManager: 'kit-tests', force: true }
const stop = new AbortController()

const aMap = (name: string, data: Record<string, string> = {}, metadata: object = {}): ObjectInput => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, labels: { kit: 'test' }, ...metadata },
  data,
})
const sentenceOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(() => 'no error').catch((error: unknown) => error)

beforeAll(async () => {
  await namespaces.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
})
afterAll(async () => {
  stop.abort()
  await namespaces.delete({ name: namespace })
  await transport.close()
})

test('a cache shows applied, changed and deleted objects once their write has returned', async () => {
  const cache = createReflector({
    client: maps,
    namespace,
    labelSelector: 'kit=test',
    clock: systemClock,
    random: Math.random,
    log: silentLog,
  })
  const changes: string[] = []
  cache.onChange(({ type, key }) => changes.push(`${type} ${key}`))
  const running = cache.run(stop.signal)
  await cache.synced({ timeoutMs: 10_000 })

  const made = await maps.apply(aMap('a', { x: '1', y: '1' }), as)
  expect(await cache.waitForVersion(made.metadata.resourceVersion ?? '', { timeoutMs: 5_000 })).toBe(true)
  expect(cache.store.get(`${namespace}/a`)).toEqual(made)
  expect(made.metadata).not.toHaveProperty('managedFields')

  const applied = await maps.apply(aMap('a', { x: '2' }), as)
  expect(applied.data).toEqual({ x: '2' })
  const patched = await maps.patch({ namespace, name: 'a' }, { data: { z: '3' } })
  expect(await cache.waitForVersion(patched.metadata.resourceVersion ?? '', { timeoutMs: 5_000 })).toBe(true)
  expect(cache.store.get(`${namespace}/a`)?.data).toEqual({ x: '2', z: '3' })

  await maps.delete({ namespace, name: 'a' })
  await eventually('the cache is empty', async () => cache.store.size === 0)
  expect(changes.map((line) => line.split(' ')[0])).toEqual(['added', 'updated', 'updated', 'deleted'])
  stop.abort()
  await running
})

test('refusals have different codes', async () => {
  const made = await maps.create(aMap('b'))
  const ref = { namespace, name: 'b' }
  expect(isAlreadyExists(await sentenceOf(maps.create(aMap('b'))))).toBe(true)
  expect(isConflict(await sentenceOf(maps.delete(ref, { uid: 'another' })))).toBe(true)
  expect(isConflict(await sentenceOf(maps.apply(aMap('b', {}, { resourceVersion: '1' }), as)))).toBe(true)
  expect(isNotFound(await sentenceOf(maps.get({ namespace, name: 'c' })))).toBe(true)
  await maps.delete(ref, { uid: made.metadata.uid ?? '' })
  expect(isNotFound(await sentenceOf(maps.delete(ref)))).toBe(true)
  // An apply with a uid cannot recreate an object that was deleted meanwhile.
  expect(isConflict(await sentenceOf(maps.apply(aMap('b', {}, { uid: made.metadata.uid }), as)))).toBe(true)
})

test('lists every object once, with its type, over several pages', async () => {
  const names = Array.from({ length: 520 }, (_, index) => `page-${String(index).padStart(3, '0')}`)
  for (let from = 0; from < names.length; from += 40) {
    await Promise.all(
      names.slice(from, from + 40).map((name) => maps.create(aMap(name, {}, { labels: { many: 'yes' } }))),
    )
  }
  const { items } = await maps.list({ namespace, labelSelector: 'many=yes' })
  expect(items.map(({ metadata }) => metadata.name)).toEqual(names)
  expect(items[0]).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap' })
})

test('a process that misses its renew deadline cannot write any more', async () => {
  const client = createClient<Lease>(transport, leaseResource)
  const timing = { durationMs: 2_000, renewDeadlineMs: 1_000, retryMs: 300 }
  const election = createElection({
    client,
    ref: { namespace, name: 'held-up' },
    identity: 'one',
    timing,
    clock: systemClock,
    random: Math.random,
    log: silentLog,
  })
  const fenced = createClient<ConfigMap>(fenceTransport(transport, election.fence), maps.resource)
  const early = await sentenceOf(fenced.create(aMap('before')))
  expect(early).toMatchObject({ status: 0, reason: 'Fenced' })
  let late: unknown
  const lost = await sentenceOf(
    election.run(new AbortController().signal, async () => {
      await fenced.create(aMap('while'))
      // As after a SIGCONT, no timer of this process has fired yet, so only the clock shows that time has passed.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_200)
      late = await sentenceOf(fenced.create(aMap('after')))
      await new Promise(() => {})
    }),
  )
  expect(late).toMatchObject({ status: 0, reason: 'Fenced' })
  expect(lost).toMatchObject({ name: 'LeaseLostError' })
  const { items } = await maps.list({ namespace, labelSelector: 'kit=test' })
  expect(items.map(({ metadata }) => metadata.name)).toEqual(['while'])
})

test('writes repeated events as one event with a series', async () => {
  type Event = KubeObject & { note?: string; series?: { count: number }; regarding?: { name: string } }
  const client = createClient<Event>(transport, eventResource)
  const ending = new AbortController()
  const recorder = createEventRecorder({
    client,
    controller: 'example.test/kit',
    instance: 'tests',
    clock: systemClock,
    random: Math.random,
    log: silentLog,
  })
  const running = recorder.run(ending.signal)
  const about = await maps.create(aMap('events', {}, { labels: {} }))
  for (let times = 0; times < 3; times += 1) {
    recorder.record(about, { type: 'Warning', reason: 'Flickers', action: 'Shine', note: 'It flickers.' })
  }
  const event = await eventually('the series', async () => {
    const { items } = await client.list({ namespace })
    return items.find(({ series }) => series !== undefined)
  })
  expect(event).toMatchObject({ note: 'It flickers.', series: { count: 3 }, regarding: { name: 'events' } })
  expect((await client.list({ namespace })).items).toHaveLength(1)
  ending.abort()
  await running
})
