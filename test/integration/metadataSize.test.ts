import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import { aTenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const cluster = aCluster()
const dir = mkdtempSync(join(tmpdir(), 'orrery-metadata-'))
const user = 'metadata-size'
const maxBytes = 32 * 1024
let api: ApiProcess
let namespace: string

beforeAll(async () => {
  api = await startApi({ databaseUrl: await aDatabase() })
  const tenant = await aTenant(api.url)
  namespace = `orrery-${tenant.scope.organizationId}`
  await cluster.world(namespace, await tenant.world()).exists()
  cluster.kubectl('create', 'clusterrolebinding', user, '--clusterrole=cluster-admin', `--user=${user}`)
})
afterAll(async () => {
  cluster.kubectl('delete', 'clusterrolebinding', user, '--ignore-not-found')
  await api?.stop()
  await cluster.close()
})

type Map = Record<string, string>
let files = 0
const aFile = (content: object): string => {
  files += 1
  const file = join(dir, `${files}.json`)
  writeFileSync(file, JSON.stringify(content))
  return file
}
/** Runs kubectl as a user without exceptions in the policies, or as an administrator who restores. Returns its errors. */
const kubectl = (...args: string[]): string => {
  try {
    cluster.kubectl('-n', namespace, ...args)
    return 'accepted'
  } catch (error) {
    return (error as { stderr: string }).stderr
  }
}
const asUser = (...args: string[]) => kubectl(`--as=${user}`, ...args)
const manifest = (name: string, annotations: Map, labels: Map = {}, kind = 'World') => ({
  apiVersion: 'orrery.dev/v1alpha1',
  kind,
  metadata: { name, namespace, annotations, labels },
  spec: kind === 'World' ? {} : { worldName: 'none', count: 0 },
})
const patch = (name: string, body: object) =>
  asUser('patch', 'world', name, '--type=merge', `--patch-file=${aFile(body)}`)
const refused = 'at most 32 KiB together'

describe.each(['World', 'BotDeployment'])('annotations and labels of a %s', (kind) => {
  test('of 32 KiB together are accepted, and of one byte more are refused', () => {
    const sized = (bytes: number) => ({ big: 'x'.repeat(bytes - 'big'.length - 'l'.length - 'value'.length) })
    const create = (name: string, bytes: number) =>
      asUser('create', '-f', aFile(manifest(name, sized(bytes), { l: 'value' }, kind)))
    expect(create('at-limit', maxBytes)).toBe('accepted')
    expect(create('above', maxBytes + 1)).toContain(refused)
  })

  test('are counted in bytes', () => {
    const create = (name: string, letters: number) =>
      asUser('create', '-f', aFile(manifest(name, { a: 'é'.repeat(letters) }, {}, kind)))
    expect(create('letters', 16_383)).toBe('accepted')
    expect(create('more-letters', 16_384)).toContain(refused)
  })
})

/** The shortest keys of annotations. */
const alphabet = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789']
const shortKeys = (count: number): Map => {
  const two = alphabet.flatMap((a) => alphabet.map((b) => a + b))
  const three = two.flatMap((ab) => alphabet.map((c) => ab + c))
  return Object.fromEntries([...alphabet, ...two, ...three].slice(0, count).map((key) => [key, '']))
}

test('as many keys as fit are accepted, and a map of the largest size is refused with the reason', () => {
  expect(asUser('create', '-f', aFile(manifest('most-keys', shortKeys(12_245))))).toBe('accepted')
  expect(asUser('create', '-f', aFile(manifest('a-key-more', shortKeys(12_246))))).toContain(refused)
  expect(asUser('create', '-f', aFile(manifest('all-keys', shortKeys(80_000))))).toContain(refused)
  const large = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`k${at}`, 'x'.repeat(1_200)]))
  expect(asUser('create', '-f', aFile(manifest('large', large)))).toContain(refused)
})

test('the annotation of kubectl apply counts too', () => {
  const thousands = Array.from({ length: 31 }, () => 'x'.repeat(1_000))
  const spec = { metadata: { annotations: { ...thousands } }, runtime: { args: thousands.slice(0, 4) } }
  const file = aFile({ ...manifest('applied', {}), spec })
  expect(asUser('apply', '-f', file)).toContain('--server-side')
  expect(asUser('apply', '--server-side', '-f', file)).toBe('accepted')
})

test('the API adopts a resource at the limit and adds its own annotations and labels', async () => {
  await eventually('the World is adopted', async () => {
    const { metadata } = await cluster.worlds.get({ namespace, name: 'at-limit' })
    return metadata.finalizers?.length === 1 && metadata.labels?.['app.kubernetes.io/managed-by'] === 'orrery-api'
  })
})

test('a resource that is larger already can be edited and deleted, and does not grow', async () => {
  const name = 'larger'
  const text = { a: 'x'.repeat(30_000), b: 'y'.repeat(30_000) }
  expect(kubectl('create', '-f', aFile(manifest(name, text)))).toBe('accepted')
  const { finalizers = [] } = await eventually('the API wrote its metadata and its status', async () => {
    const { metadata, status } = await cluster.worlds.get({ namespace, name })
    return metadata.finalizers?.length === 1 && status?.worldId !== undefined && metadata
  })
  expect(patch(name, { spec: { displayName: 'renamed' } })).toBe('accepted')
  expect(patch(name, { metadata: { finalizers: [...finalizers, 'example.com/keep'] } })).toBe('accepted')
  expect(patch(name, { metadata: { annotations: { c: 'one more' } } })).toContain(refused)
  expect(patch(name, { metadata: { annotations: { a: 'x'.repeat(29_000) } } })).toBe('accepted')
  expect(asUser('delete', 'world', name, '--wait=false')).toBe('accepted')
  expect(patch(name, { metadata: { finalizers: null } })).toBe('accepted')
  await cluster.world(namespace, name).isGone()
})
