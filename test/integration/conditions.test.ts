import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Endpoint } from '#api/domain/endpoint/endpoint.ts'
import { rootApiKey } from '#test/support/processes.ts'
import { documentBodies, findOperation, operations } from './tenancy/matrix.ts'
import { type FullTenant, type Matrix, startMatrix } from './tenancy/support.ts'

let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix()
})
afterAll(() => matrix?.stop())

const reads = operations.filter(([, { method, answerHeaders }]) => method === 'get' && answerHeaders?.includes('etag'))
const writes = operations.filter(([, { method }]) => method !== 'get')
const lockingWrites = writes.filter(([, { lockRevision }]) => lockRevision !== undefined)
/**
 * Writes below the path of a resource with an entity tag that do not check it: a create, actions on deleted resources, and a wake,
 * which the state decides.
 */
const otherWrites = [
  'wakeWorld',
  'createBotDeployment',
  'restoreWorld',
  'purgeWorld',
  'restoreOrganization',
  'purgeOrganization',
]

/** Returns the read of the resource that an operation writes: on its own path, or on the one above an action. */
const readOf = ({ path }: Endpoint): Endpoint | undefined =>
  [path, path.replace(/[^/]+\/$/, '')]
    .flatMap((each) => reads.filter(([, read]) => read.path === each))
    .map(([, read]) => read)
    .at(0)

const platform = { apiKey: rootApiKey }
const stale = '"0.0"'
/** The matrix maps a group of an issuer that the API does not know. */
const ask = async (
  { tenant, ids }: FullTenant,
  endpoint: Endpoint,
  headers: Record<string, string> = {},
): Promise<{ status: number; headers: Headers; text?: string }> =>
  endpoint.operationId === 'putGroups'
    ? tenant.rest.call('PUT', endpoint.path, { groups: [] }, headers)
    : matrix.request(endpoint, ids, platform, headers)
const tagOf = async (of: FullTenant, read: Endpoint): Promise<string> => {
  const { status, headers } = await ask(of, read)
  expect(status).toBe(200)
  return headers.get('etag') ?? ''
}

test.each(writes)('%s checks preconditions if its resource has an entity tag', (name, endpoint) => {
  const isExpected = readOf(endpoint) !== undefined && !otherWrites.includes(name)
  expect(endpoint.lockRevision !== undefined).toBe(isExpected)
})

describe('without a change', () => {
  let own: FullTenant
  beforeAll(async () => {
    own = await matrix.aFullTenant('unchanged')
  })

  test.each(writes)('%s with an If-Match that is not current is 412 and changes nothing', async (_, endpoint) => {
    const { status } = await matrix.changingNothing(() => ask(own, endpoint, { 'if-match': `${stale}, "x"` }))
    expect(status).toBe(412)
  })

  test.each(lockingWrites)('%s with If-None-Match: * is 412 and changes nothing', async (_, endpoint) => {
    const { status } = await matrix.changingNothing(() => ask(own, endpoint, { 'if-none-match': '*' }))
    expect(status).toBe(412)
  })

  test.each(reads)('%s with its own tag in If-None-Match is 304 without a body', async (_, endpoint) => {
    const etag = await tagOf(own, endpoint)
    expect(etag).toMatch(/^"[^".]+\.[\w-]{43}"$/)
    for (const tags of [etag, `W/${etag}`, `${stale}, ${etag}`, '*']) {
      const answer = await ask(own, endpoint, { 'if-none-match': tags })
      expect(answer).toMatchObject({ status: 304, text: '' })
      expect(Object.fromEntries(answer.headers)).toMatchObject({ etag, 'cache-control': 'no-store' })
      for (const name of ['content-type', 'content-length']) expect(answer.headers.has(name)).toBe(false)
    }
    for (const tags of [stale, etag.replace('.', '.x')]) {
      expect(await ask(own, endpoint, { 'if-none-match': tags })).toMatchObject({ status: 200 })
    }
  })

  test.each(reads)('%s evaluates If-Match first', async (_, endpoint) => {
    const etag = await tagOf(own, endpoint)
    const both = (ifMatch: string) => ask(own, endpoint, { 'if-match': ifMatch, 'if-none-match': etag })
    expect([(await both(stale)).status, (await both(etag)).status]).toEqual([412, 304])
  })

  test('a HEAD has the tag of the GET, and 304 for it', async () => {
    const etag = await tagOf(own, findOperation('getWorld'))
    const head = (headers = {}) => own.tenant.rest.call('HEAD', `/api/worlds/${own.ids.worldId}/`, undefined, headers)
    expect((await head()).headers.get('etag')).toBe(etag)
    expect((await head({ 'if-none-match': etag })).status).toBe(304)
  })

  test('an absent resource is 404, and no PUT with If-Match creates it', async () => {
    const absent = { ...own, ids: { ...own.ids, worldId: `wld-${'0'.repeat(26)}`, id: 'absent', tag: 'absent' } }
    await matrix.changingNothing(async () => {
      for (const each of ['patchWorld', 'deleteWorld', 'startWorld', 'deleteKvStore', 'deleteBuild']) {
        expect((await ask(absent, findOperation(each), { 'if-match': '*' })).status).toBe(404)
      }
      for (const each of ['putBuild', 'putKvStore']) {
        expect((await ask(absent, findOperation(each), { 'if-match': '*' })).status).toBe(412)
      }
    })
  })
})

test.each(['putBuild', ...Object.keys(documentBodies).map((type) => `put${type}`)])(
  '%s with If-None-Match: * creates once, also concurrently',
  async (name) => {
    const { tenant, ids } = await matrix.aFullTenant('once')
    const endpoint = findOperation(name)
    const create = () => ask({ tenant, ids: { ...ids, id: 'new', tag: 'new' } }, endpoint, { 'if-none-match': '*' })
    const statuses = (await Promise.all([create(), create(), create(), create()])).map(({ status }) => status)
    expect(statuses.sort()).toEqual([200, 412, 412, 412])
  },
)

describe('with the current tag', () => {
  let own: FullTenant
  beforeAll(async () => {
    own = await matrix.aFullTenant('current')
  })
  const depth = ({ path }: Endpoint): number => path.split('/').length
  /** Deletes come last, the deepest first, and each resource before the one that owns it. */
  const order = (endpoint: Endpoint): number =>
    endpoint.method === 'delete'
      ? ['deleteWorld', 'deleteProject', 'deleteOrganization'].indexOf(endpoint.operationId) + 100
      : depth(endpoint)
  const inOrder = lockingWrites.toSorted(([, a], [, b]) => order(a) - order(b))

  test.each(inOrder)('%s succeeds', async (_, endpoint) => {
    const read = readOf(endpoint)
    const etag = read === undefined ? '' : await tagOf(own, read)
    const { status } = await ask(own, endpoint, { 'if-match': `${stale}, ${etag}` })
    expect(status).toBeLessThan(300)
  })
})

test.each(['patchWorld', 'patchBotDeployment', 'patchProject', 'patchOrganization', 'startWorld', 'putKvStore'])(
  'of concurrent requests to %s with the same tag, one succeeds',
  async (name) => {
    const own = await matrix.aFullTenant('race')
    const endpoint = findOperation(name)
    const etag = await tagOf(own, readOf(endpoint) ?? endpoint)
    const requests = Array.from({ length: 6 }, () => ask(own, endpoint, { 'if-match': etag }))
    const statuses = (await Promise.all(requests)).map(({ status }) => status)
    expect(statuses.filter((status) => status < 300)).toHaveLength(1)
    expect(statuses.filter((status) => status === 412)).toHaveLength(5)
  },
)

test('a repetition with Idempotency-Key gets the first response, although If-Match is not current any more', async () => {
  const own = await matrix.aFullTenant('repeated')
  const rotate = findOperation('rotateWebhook')
  const etag = await tagOf(own, findOperation('getWebhook'))
  const once = (key: string) => ask(own, rotate, { 'if-match': etag, 'idempotency-key': key })
  const [first, ...others] = await Promise.all([once('a'), once('a'), once('a')])
  for (const each of others) expect([each.status, each.text]).toEqual([200, first?.text])
  expect((await once('b')).status).toBe(412)
})

test('equal tags mean equal bodies for each credential, and changes of the observed state keep the revision', async () => {
  const own = await matrix.aFullTenant('states')
  const { tenant, ids } = own
  const { organization } = tenant.paths
  const credentials = {
    platform,
    reader: { apiKey: await tenant.key([`${organization}/**:r`]) },
    owner: { apiKey: await tenant.key([`${organization}/**:*`]) },
    user: { token: await tenant.token('user-7', [`${organization}/**:w`]) },
  }
  const bodies = new Map<string, string>()
  const readAll = async (): Promise<Record<string, string>> => {
    const tags: Record<string, string> = {}
    for (const [name, endpoint] of reads) {
      for (const [caller, credential] of Object.entries(credentials)) {
        const { status, headers, text } = await matrix.request(endpoint, ids, credential)
        if (status === 403) continue
        expect(status).toBe(200)
        const etag = headers.get('etag') ?? ''
        const key = `${name} ${caller} ${etag}`
        expect(bodies.get(key) ?? text).toBe(text)
        bodies.set(key, text)
        tags[`${name} ${caller}`] = etag
      }
    }
    return tags
  }
  const first = await readAll()
  expect(await readAll()).toEqual(first)
  const world = `where id = '${ids.worldId}'`
  const states: [string, string][] = [
    ['getWorld', `update worlds set queue_active = 7 ${world}`],
    ['getWorld', `update worlds set phase = 'Active', status_message = 'Runs.' ${world}`],
    ['getWorld', `update worlds set waits_for = 'Waits.' ${world}`],
    ['getBotDeployment', `update bot_deployments set status_message = 'Runs.' where world_id = '${ids.worldId}'`],
    ['getBotDeployment', `update worlds set started_at = now() ${world}`],
    ['getWebhook', `update webhooks set failing_since = now() where id = '${ids.webhookId}'`],
  ]
  let before = first
  for (const [name, statement] of states) {
    await matrix.execute(statement)
    const after = await readAll()
    const [tag, changed] = [before[`${name} platform`] ?? '', after[`${name} platform`] ?? '']
    expect(changed).not.toBe(tag)
    expect(changed.split('.')[0]).toBe(tag.split('.')[0])
    before = after
  }
  const patched = await ask(own, findOperation('patchWorld'), { 'if-match': first['getWorld platform'] ?? '' })
  expect(patched.status).toBe(200)
})
