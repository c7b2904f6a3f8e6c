import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aCluster } from '#test/support/cluster.ts'
import { concurrently } from '#test/support/concurrently.ts'
import { type ApiProcess, aDatabase, rootApiKey, startApi } from '#test/support/processes.ts'
import { createRest, send } from '#test/support/rest.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

let api: ApiProcess
let tenant: Tenant
beforeAll(async () => {
  api = await startApi({ databaseUrl: await aDatabase() })
  tenant = await aTenant(api.url)
})
afterAll(() => api?.stop())

type Problem = { code: string; detail: string; errors?: { path: string }[] }
type Bots = { documentId: string; configuration: Record<string, unknown> } & Record<string, unknown>

describe('a bot deployment', () => {
  const make = async (worldId: string, body: object) => {
    const made = await tenant.rest.call<Problem>('POST', `/api/worlds/${worldId}/bots/`, body)
    return { ...made, path: made.headers.get('location') ?? '' }
  }
  const read = async (path: string) => (await tenant.rest.call<Bots>('GET', path)).body

  test('is created with every default, is at Location, and becomes a resource', async () => {
    const worldId = await tenant.world()
    const made = await make(worldId, { count: 2 })
    expect(made).toMatchObject({ status: 200, body: undefined })
    const bots = await read(made.path)
    expect(bots).toEqual({
      documentId: made.path.split('/').at(-2),
      worldId,
      ...tenant.scope,
      description: '',
      configuration: { count: 2, cpu: '100m', memory: '128Mi', args: [] },
      status: {
        phase: 'Pending',
        message: '',
        cluster: { name: 'default', computeGroup: 'production' },
        conditions: expect.any(Array),
      },
      metadata: { annotations: {}, labels: {} },
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    })
    expect((await tenant.rest.call<Bots[]>('GET', `/api/worlds/${worldId}/bots/`)).body).toEqual([bots])
    const namespace = `orrery-${tenant.scope.organizationId}`
    await eventually('the resource', async () => {
      const found = aCluster().kubectl('-n', namespace, 'get', 'bots', bots.documentId, '-o', 'jsonpath={.spec.count}')
      return found === '2'
    })
  })

  test.each([
    ...['1', '01', '12', '0.5', '1.25', '1.125', '250m', '1000m'].map((cpu) => [{ cpu }, true] as const),
    ...['', '0', '1.', '.5', '1.1234', '1.5m', '-1', '1k', '1 ', 'm', '1M', '1m\n'].map(
      (cpu) => [{ cpu }, false] as const,
    ),
    ...['1', '1.5', '128Mi', '1Gi', '1G', '1M', '1k', '1Ki', '1000m', '0.123456Gi'].map(
      (memory) => [{ memory }, true] as const,
    ),
    ...['', '0Mi', '1.', '.5', '1K', '1mi', '1Ti', '-1', 'Mi', '1 Mi', '1e3', '1Mi\n'].map(
      (memory) => [{ memory }, false] as const,
    ),
    [{ count: 0 }, true],
    [{ count: -1 }, false],
    [{ count: 1.5 }, false],
    [{ count: '1' }, false],
    [{ description: '🌍'.repeat(2048) }, true],
    [{ description: '🌍'.repeat(2049) }, false],
    [{ durationMinutes: 0.5 }, true],
    [{ durationMinutes: 0 }, false],
    [{ args: ['a', ''] }, true],
    [{ args: Array.from({ length: 4 }, () => 'a'.repeat(4096)) }, true],
    [{ args: ['🌍'.repeat(2048), '🌍'.repeat(2048), 'a'] }, false],
    [{ metadata: { labels: { a: '🌍'.repeat(2048) } } }, true],
    [
      {
        metadata: {
          annotations: { a: '🌍'.repeat(2048), b: '🌍'.repeat(2048) },
          labels: { c: '🌍'.repeat(2048), d: '🌍'.repeat(2048) },
        },
      },
      false,
    ],
    [{ args: 'a' }, false],
    [{ args: [1] }, false],
    [{ metadata: { labels: { a: 'b' } } }, true],
    [{ metadata: { labels: { a: 1 } } }, false],
    [{ speed: 1 }, false],
  ] as const)('with %j is taken: %s', async (body, taken) => {
    const worldId = await tenant.world({ networking: { scaling: { profile: 'Capacity2500' } } })
    const made = await make(worldId, { count: 1, ...body })
    expect(made.status).toBe(taken ? 200 : 400)
    if (!taken) expect(made.body.errors?.[0]?.path).toMatch(`/${Object.keys(body)[0]}`)
  })

  test('needs a count, in create and PATCH', async () => {
    const worldId = await tenant.world()
    const { path } = await make(worldId, { count: 1 })
    for (const [method, where] of [
      ['POST', `/api/worlds/${worldId}/bots/`],
      ['PATCH', path],
    ] as const) {
      const answer = await tenant.rest.call<Problem>(method, where, { cpu: '1' })
      expect([answer.status, answer.body.errors?.[0]?.path]).toEqual([400, '/count'])
    }
  })

  test('never exceeds the profile with its siblings, also in concurrent creates', async () => {
    const worldId = await tenant.world({ networking: { scaling: { profile: 'Capacity10' } } })
    expect((await make(worldId, { count: 11 })).status).toBe(409)
    const made = await Promise.all(Array.from({ length: 5 }, () => make(worldId, { count: 4 })))
    expect(made.map(({ status }) => status).sort()).toEqual([200, 200, 409, 409, 409])
    const [first, second] = made.filter(({ status }) => status === 200).map(({ path }) => path)
    const patch = (count: number) => tenant.rest.call('PATCH', first ?? '', { count })
    expect([(await patch(7)).status, (await patch(6)).status]).toEqual([409, 200])
    expect((await tenant.rest.call('DELETE', second ?? '')).status).toBe(200)
    expect((await make(worldId, { count: 4 })).status).toBe(200)
    expect((await make(worldId, { count: 1 })).status).toBe(409)
  })

  test('is limited to 64 per world, and to maxBotDeployments per organization', async () => {
    const own = await aTenant(api.url)
    const deploy = async (worldId: string) =>
      (await own.rest.call<Problem>('POST', `/api/worlds/${worldId}/bots/`, { count: 0 })).status
    const [first, second] = [await own.world(), await own.world()]
    const made = await concurrently(66, () => deploy(first))
    expect(made.filter((status) => status === 200)).toHaveLength(64)
    expect(new Set(made)).toEqual(new Set([200, 409]))
    const limits = `/api/organizations/${own.scope.organizationId}/limits/`
    expect((await own.rest.call('PATCH', limits, { maxBotDeployments: 65 })).status).toBe(200)
    expect([await deploy(second), await deploy(second)]).toEqual([200, 409])
    const [bots] = (await own.rest.call<Bots[]>('GET', `/api/worlds/${second}/bots/`)).body
    await own.rest.call('DELETE', `/api/worlds/${second}/bots/${bots?.documentId}/`)
    expect(await deploy(second)).toBe(200)
  })

  test('never exceeds the profile with its siblings, also when the profile shrinks', async () => {
    const scaled = (profile: string) => ({ networking: { strategy: 'Default', scaling: { profile } } })
    const worldId = await tenant.world(scaled('Capacity60'))
    const { path } = await make(worldId, { count: 31 })
    const shrink = () => tenant.rest.call('PATCH', `/api/worlds/${worldId}/`, scaled('Capacity30'))
    expect(await shrink()).toMatchObject({ status: 409, body: { code: 'limit_reached' } })
    await tenant.rest.call('PATCH', path, { count: 30 })
    expect((await shrink()).status).toBe(200)
  })

  test('is changed in the given fields, has an ETag, and is absent once deleted', async () => {
    const worldId = await tenant.world()
    const { path } = await make(worldId, { count: 1, cpu: '1', args: ['a'], description: 'Crowd' })
    const patched = await tenant.rest.call('PATCH', path, { count: 3, memory: '1Gi' })
    expect(patched).toMatchObject({ status: 200, body: undefined })
    expect(await read(path)).toMatchObject({
      description: 'Crowd',
      configuration: { count: 3, cpu: '1', memory: '1Gi', args: ['a'] },
    })
    expect((await tenant.rest.call('PATCH', path, { count: 4 }, { 'if-match': '"1.0"' })).status).toBe(412)
    expect(await tenant.rest.call('DELETE', path)).toMatchObject({ status: 200, body: undefined })
    for (const method of ['GET', 'DELETE']) expect((await tenant.rest.call(method, path)).status).toBe(404)
    expect((await tenant.rest.call('GET', `/api/worlds/${worldId}/bots/`)).body).toEqual([])
  })
})

describe('a build', () => {
  const path = (channel: string, tag = 'v1') => `/api/builds/${channel}/${tag}/`
  const put = (channel: string, contentId: string, more: object = {}) =>
    tenant.rest.call<{ id: string }>('PUT', path(channel), { image: 'registry.example/a:1', contentId, ...more })
  const resolve = (body: object) => tenant.rest.call<Problem>('POST', '/api/worlds/resolveBuildAndContent/', body)

  test('gets a new id with each change and keeps it without one', async () => {
    const first = await put('ids', 'c1')
    expect(first.body).toMatchObject({ channelId: 'ids', tag: 'v1', contentId: 'c1', probes: true })
    expect((await put('ids', 'c1')).body).toEqual(first.body)
    const ids = [
      first.body.id,
      (await put('ids', 'c2')).body.id,
      (await put('ids', 'c2', { probes: false })).body.id,
      (await put('ids', 'c2', { digest: `sha256:${'0'.repeat(64)}` })).body.id,
    ]
    expect(new Set(ids).size).toBe(4)
    expect([...ids].sort()).toEqual(ids)
    expect((await tenant.rest.call('DELETE', path('ids'))).status).toBe(204)
    expect((await tenant.rest.call('GET', path('ids'))).status).toBe(404)
  })

  test('is resolved by channel and tag or by content, with an error for what is missing', async () => {
    await put('live', 'content-live')
    for (const body of [{ channelId: 'live', tag: 'v1' }, { content: { id: 'content-live' } }]) {
      expect(await resolve(body)).toMatchObject({ status: 204, body: undefined })
    }
    expect(await resolve({ channelId: 'none', tag: 'v1' })).toMatchObject({
      status: 422,
      body: { code: 'build_unresolved', detail: expect.stringContaining('channel') },
    })
    expect((await resolve({ channelId: 'live', tag: 'v2' })).body.detail).toContain('tag')
    expect((await resolve({ content: { id: 'none' } })).body.detail).toContain('content')
    for (const body of [{}, { channelId: 'live' }, { channelId: 'live', tag: 'v1', content: { id: 'x' } }]) {
      expect((await resolve(body)).status).toBe(400)
    }
  })

  test('is resolved at start to the newest with the content, and a moved tag does not change a run', async () => {
    const before = await put('fixed', 'content-fixed')
    const id = await tenant.world({ runtime: { build: { content: { id: 'content-fixed' } } } })
    type World = { status: { resolvedBuild?: { id: string } } }
    const resolved = async () => (await tenant.rest.call<World>('GET', `/api/worlds/${id}/`)).body.status.resolvedBuild
    const start = () => tenant.rest.call('POST', `/api/worlds/${id}/start/`)
    expect(await resolved()).toBeUndefined()
    await start()
    const { organizationId } = tenant.scope
    expect(await resolved()).toEqual({ id: before.body.id, channelId: 'fixed', tag: 'v1', organizationId })
    const newer = await put('fixed-too', 'content-fixed')
    expect((await resolved())?.id).toBe(before.body.id)
    await start()
    expect((await resolved())?.id).toBe(newer.body.id)
    for (const channel of ['fixed', 'fixed-too']) await tenant.rest.call('DELETE', path(channel))
    expect((await start()).status).toBe(422)
    expect((await resolved())?.id).toBe(newer.body.id)
  })

  test.each([
    ['PUT', 'a/../b', 200],
    ['PUT', '-a', 200],
    ['PUT', 'x'.repeat(129), 400],
    ['PUT', 'x'.repeat(128), 200],
  ])('%s in the channel %s is %i', async (method, channel, status) => {
    const body = { image: 'registry.example/a:1', contentId: 'c' }
    expect((await tenant.rest.call(method, `/api/builds/${encodeURIComponent(channel)}/v1/`, body)).status).toBe(status)
  })
})

describe('a document', () => {
  type Document = { userId: string; version: string; data: Record<string, unknown>; resource: object }
  const entry = (data: unknown, store = 'kvstoreClient') => ({ data: { key: 'k', store, data } })
  const at = (id: string, type = 'kvStore') => `/api/documents/${type}/${id}/`

  test('belongs to a scope, which the headers or the first part of its id name', async () => {
    const worldId = await tenant.world()
    const { organizationId } = tenant.scope
    const scopes = {
      organization: createRest(api.url, { organizationId }),
      project: tenant.rest,
    }
    const inWorld = { 'x-svc-world-id': worldId }
    await scopes.organization.call('PUT', at('same'), entry('organization'))
    await scopes.project.call('PUT', at('same'), entry('project'))
    await scopes.project.call('PUT', at('same'), entry('world'), inWorld)
    const seen = async (id: string, headers = {}, rest = tenant.rest) =>
      (await rest.call<Document>('GET', at(id), undefined, headers)).body.data?.data
    expect(await seen('same', {}, scopes.organization)).toBe('organization')
    expect(await seen('same')).toBe('project')
    expect(await seen('same', inWorld)).toBe('world')
    expect(await seen('Organization:same', inWorld)).toBe('organization')
    expect(await seen('Project:same', inWorld)).toBe('project')
    expect(await seen('World:same', inWorld)).toBe('world')
    expect((await scopes.organization.call('GET', at('Project:same'))).status).toBe(400)
    const echoed = await tenant.rest.call<Document>('GET', at('Project:same'))
    expect(echoed.body.resource).toEqual({ type: 'kvStore', id: 'Project:same' })
  })

  test('has a version that grows with each write, including deletions', async () => {
    const versions: string[] = []
    for (let write = 0; write < 5; write += 1) {
      versions.push((await tenant.rest.call<Document>('PUT', at('rising'), entry(write))).body.version)
    }
    expect((await tenant.rest.call('DELETE', at('rising'))).status).toBe(204)
    for (const method of ['GET', 'DELETE']) expect((await tenant.rest.call(method, at('rising'))).status).toBe(404)
    versions.push((await tenant.rest.call<Document>('PUT', at('rising'), entry('again'))).body.version)
    expect([...new Set(versions)].sort()).toEqual(versions)
  })

  test('in kvstoreServer can be written only by keys with the claim worldServer', async () => {
    const everything = [`${tenant.paths.organization}/**:*`]
    const client = await tenant.withKey(everything)
    const server = await tenant.withKey(everything, { claims: { worldServer: true } })
    expect((await client.call('PUT', at('server'), entry(1, 'kvstoreServer'))).status).toBe(403)
    expect((await server.call('PUT', at('server'), entry(1, 'kvstoreServer'))).status).toBe(200)
    expect((await client.call('PUT', at('server'), entry(2))).status).toBe(403)
    expect((await client.call('DELETE', at('server'))).status).toBe(403)
    expect((await client.call<Document>('GET', at('server'))).body.data).toMatchObject({ data: 1 })
    expect((await server.call('DELETE', at('server'))).status).toBe(204)
    expect((await client.call('PUT', at('server'), entry(3))).status).toBe(200)
  })

  test('can be written by a token for its own subject only, or with * on the scope', async () => {
    const { organizationId, projectId } = tenant.scope
    const as = async (userId: string, verb = 'w') => {
      const authorization = `Bearer ${await tenant.token(userId, [`${tenant.paths.project}/**:${verb}`])}`
      return (method: string, id: string, body?: object) =>
        send(api.url, {
          method,
          path: at(id),
          headers: {
            authorization,
            'x-svc-organization-id': organizationId,
            'x-svc-project-id': projectId,
            ...(body ? { 'content-type': 'application/json' } : {}),
          },
          ...(body ? { body: JSON.stringify(body) } : {}),
        })
    }
    const [ann, ben] = [await as('ann'), await as('ben')]
    expect((await ann('PUT', 'of-ann', { ...entry(1), userId: 'ben' })).status).toBe(403)
    const written = await ann('PUT', 'of-ann', { ...entry(1), userId: 'ann' })
    expect(JSON.parse(written.text)).toMatchObject({ userId: 'ann' })
    expect((await ben('PUT', 'of-ann', entry(2))).status).toBe(403)
    expect((await ben('DELETE', 'of-ann')).status).toBe(403)
    expect((await ben('GET', 'of-ann')).status).toBe(200)
    expect((await (await as('boss', '*'))('PUT', 'of-ann', { ...entry(2), userId: 'ann' })).status).toBe(200)
    expect((await ann('PUT', 'of-ann', entry(2))).status).toBe(200)
    expect((await ann('DELETE', 'of-ann')).status).toBe(204)
    expect((await ben('PUT', 'of-ann', entry(3))).status).toBe(200)
  })

  test.each([
    ['collection', { userId: 'u', datasourceId: 'd', userCollection: [1, { a: null }] }],
    ['liveConfig', { id: 'i', config: { a: [1] } }],
  ])('of the type %s has the data of the specification', async (type, data) => {
    expect((await tenant.rest.call('PUT', at('typed', type), { data })).status).toBe(200)
    const found = await tenant.rest.call<Document>('GET', at('typed', type))
    expect(found.body.data).toEqual(data)
    expect((await tenant.rest.call('PUT', at('typed', type), { data: { ...data, more: 1 } })).status).toBe(400)
  })

  test('is refused with a number that is no double, wherever it stands, and keeps its content', async () => {
    expect((await tenant.rest.call('PUT', at('finite'), entry([1e308]))).status).toBe(200)
    const body = '{"data":{"key":"k","store":"kvstoreClient","data":[1,{"deep":[-1e400]}]}}'
    const { organizationId, projectId } = tenant.scope
    const headers = {
      'x-api-key': rootApiKey,
      'x-svc-organization-id': organizationId,
      'x-svc-project-id': projectId,
      'content-type': 'application/json',
    }
    const refused = await send(api.url, { method: 'PUT', path: at('finite'), headers, body })
    expect(refused.status).toBe(400)
    expect(JSON.parse(refused.text)).toMatchObject({ errors: [{ path: '/data/data/1/deep/0' }] })
    expect((await tenant.rest.call<Document>('GET', at('finite'))).body.data).toMatchObject({ data: [1e308] })
  })

  test('is absent with its world, and stays absent', async () => {
    const worldId = await tenant.world()
    const headers = { 'x-svc-world-id': worldId }
    expect((await tenant.rest.call('PUT', at('gone'), entry(1), headers)).status).toBe(200)
    await tenant.rest.call('DELETE', `/api/worlds/${worldId}/`)
    expect((await tenant.rest.call('GET', at('gone'), undefined, headers)).status).toBe(404)
    expect((await tenant.rest.call('PUT', at('gone'), entry(2), headers)).status).toBe(404)
    expect((await tenant.rest.call('DELETE', at('gone'), undefined, headers)).status).toBe(404)
  })
})
