import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import { createRest } from '#test/support/rest.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'

let api: ApiProcess
let tenant: Tenant
beforeAll(async () => {
  api = await startApi({ databaseUrl: await aDatabase() })
  tenant = await aTenant(api.url)
})
afterAll(() => api?.stop())

type Fault = { path: string; message: string }
type Problem = { code: string; errors?: Fault[] }
type World = Record<string, unknown> & { launchContext: Record<string, unknown> }
const lobby = { name: 'Lobby', transient: false }
const createWorld = (body: object) => tenant.rest.call<Problem>('POST', '/api/worlds/', { ...lobby, ...body })
const absentOrganization = { 'x-svc-organization-id': `org-${'0'.repeat(26)}` }

describe('the pictureUrl of a world', () => {
  test.each([
    'https://example.com:65535/a.png',
    'HTTPS://Example.COM/a.png',
    'http://[2001:db8::1]:8080/a.png',
    'https://user@example.com/a.png?b=c/d?e#f/g?h',
    'https://example.com/a.png#top',
    'https://example.com',
    'https://example.com/%C3%A9.png',
    'ftp://example.com/a.png',
    'urn:isbn:0451450523',
    'urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6',
    'mailto:a@example.com',
    's3://bucket/key.png',
    '',
  ])('accepts %j', async (pictureUrl) => {
    const made = await tenant.rest.call<{ worldId: string }>('POST', '/api/worlds/', { ...lobby, pictureUrl })
    expect(made.status).toBe(200)
    const { body } = await tenant.rest.call<World>('GET', `/api/worlds/${made.body.worldId}/`)
    expect(body.pictureUrl).toBe(pictureUrl || undefined)
    const path = `/api/worlds/${await tenant.world({ pictureUrl: 'https://example.com/old.png' })}/`
    expect((await tenant.rest.call('PATCH', path, { pictureUrl })).status).toBe(200)
  })

  test.each([
    'a picture',
    'a.png',
    '/a.png',
    '//example.com/a.png',
    'https://',
    'https:///a.png',
    'https:a.png',
    'https://exam ple.com/',
    'https://example.com/a b.png',
    'https://example.com/%zz.png',
    'https://example.com/a#b#c',
    'https://example.com:port/',
    'http://[::1/a.png',
    '1http://example.com/',
    ':a',
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    'vbscript:a',
    'data:image/png;base64,AAAA',
    'DATA:,a',
  ])('rejects %j', async (pictureUrl) => {
    const made = await createWorld({ pictureUrl })
    expect([made.status, made.body.errors?.map(({ path }) => path)]).toEqual([400, ['/pictureUrl']])
  })
})

describe('the claims of an API key', () => {
  const create = (claims: object) =>
    tenant.rest.call('POST', '/api/organizations/apiKeys/', { displayName: 'Test', claims })
  test.each(['a b/c.d', '1', '-', 'ä', '🌍'.repeat(128), ' ', 'https://example.com/claims#a', '"', 'toString', 'a\nb'])(
    'accept the key %j and return it',
    async (name) => {
      expect((await create({ [name]: true })).status).toBe(200)
      const keys = await tenant.rest.call<{ claims: object }[]>('GET', '/api/organizations/apiKeys/')
      expect(keys.body.at(-1)?.claims).toEqual({ [name]: true })
    },
  )

  test.each(['', '🌍'.repeat(129)])('reject the key %j', async (name) => {
    expect((await create({ [name]: true })).status).toBe(400)
  })
})

describe('identifiers that the caller chooses', () => {
  const free = ['-a', 'a b', 'Ä/ö', 'a:b*c', '%2F', '🌍'.repeat(128), '...', '{x}']
  const refused = ['', '🌍'.repeat(129), 'a\tb', 'a\u007fb', 'a\u0085b']

  test.each(free)('accept the channel and the tag %j', async (name) => {
    const path = `/api/builds/${encodeURIComponent(name)}/${encodeURIComponent(name)}/`
    const build = { image: 'registry.example/a:1', contentId: 'c' }
    const put = await tenant.rest.call('PUT', path, build)
    expect(put).toMatchObject({ status: 200, body: { channelId: name, tag: name } })
    expect((await tenant.rest.call('GET', path)).body).toEqual(put.body)
    const reference = { channelId: name, tag: name }
    expect((await tenant.rest.call('POST', '/api/worlds/resolveBuildAndContent/', reference)).status).toBe(204)
    const id = await tenant.world({ runtime: { build: reference } })
    expect((await tenant.rest.call('POST', `/api/worlds/${id}/start/`)).status).toBe(200)
    const { body } = await tenant.rest.call<World>('GET', `/api/worlds/${id}/`)
    expect(body).toMatchObject({
      status: { resolvedBuild: reference },
      launchContext: { buildInfo: { buildTag: name } },
    })
    expect((await tenant.rest.call('DELETE', path)).status).toBe(204)
  })

  test.each(refused)('reject the channel %j', async (channelId) => {
    const made = await createWorld({ runtime: { build: { channelId, tag: 'a' } } })
    expect([made.status, made.body.errors?.map(({ path }) => path)]).toEqual([400, ['/runtime/build/channelId']])
  })

  test.each(free)('accept the tenantId %j and return it', async (tenantId) => {
    const patch = await tenant.rest.call('PATCH', '/api/organizations/current/', { tenantId })
    expect(patch.status).toBe(204)
    expect((await tenant.rest.call('GET', '/api/organizations/current/')).body).toMatchObject({ tenantId })
  })

  test.each(refused)('reject the tenantId %j', async (tenantId) => {
    expect((await tenant.rest.call('PATCH', '/api/organizations/current/', { tenantId })).status).toBe(400)
  })

  const permitted = ['a', 'a b', 'Ä', '🌍'.repeat(128), '.', '**'.replaceAll('*', '+')]
  test.each(permitted)('accept %j in the path of a permission', async (id) => {
    const permissions = [`organizations/${id}:r`, `organizations/${id}/projects/${id}/worlds/${id}/**:w`]
    const made = await tenant.rest.call('POST', '/api/organizations/apiKeys/', { displayName: 'Test', permissions })
    expect(made.status).toBe(200)
    const keys = await tenant.rest.call<{ permissions: object }[]>('GET', '/api/organizations/apiKeys/')
    expect(keys.body.at(-1)?.permissions).toEqual(permissions)
  })

  test.each(['', 'a/b', 'a:b', 'a*', 'a\nb', '🌍'.repeat(129)])('reject %j in the path of a permission', async (id) => {
    const body = { displayName: 'Test', permissions: [`organizations/${id}:r`] }
    expect((await tenant.rest.call('POST', '/api/organizations/apiKeys/', body)).status).toBe(400)
  })

  test('accept names of any length up to 1,024 where the specification states none', async () => {
    const name = '🌍'.repeat(1_024)
    const organization = await tenant.rest.call('POST', '/api/organizations/', { name })
    const project = await tenant.rest.call('POST', '/api/organizations/projects/', { name })
    const key = await tenant.rest.call('POST', '/api/organizations/apiKeys/', { displayName: name })
    expect([organization.status, project.status, key.status]).toEqual([200, 200, 200])
  })
})

describe('an absent organization is 404 with the platform key', () => {
  test.each([
    ['GET', '/api/organizations/apiKeys/', undefined],
    ['POST', '/api/organizations/apiKeys/', { displayName: 'Test' }],
    ['PUT', '/api/builds/main/stable/', { image: 'registry.example/a:1', contentId: 'c' }],
    ['POST', '/api/users/u/tokens/', {}],
    ['DELETE', `/api/users/u/tokens/tok-${'0'.repeat(26)}/`, undefined],
    ['GET', '/api/organizations/current/usage/', undefined],
    ['GET', '/api/organizations/projects/', undefined],
    ['PATCH', '/api/organizations/current/', { name: 'Absent' }],
  ])('for %s %s', async (method, path, body) => {
    expect(await tenant.rest.call(method, path, body, absentOrganization)).toMatchObject({
      status: 404,
      body: { code: 'not_found' },
    })
  })

  test('also for the key of an organization that holds a permission for it', async () => {
    const permissions = [`organizations/${absentOrganization['x-svc-organization-id']}/**:*`]
    const rest = await tenant.withKey(permissions)
    const list = await rest.call('GET', '/api/organizations/apiKeys/', undefined, absentOrganization)
    expect(list.status).toBe(404)
  })
})

describe('GET /api/worlds/travel/locations/', () => {
  const travel = (projectId: string, apiKey?: string) =>
    createRest(api.url, { projectId }, apiKey).call('GET', '/api/worlds/travel/locations/')

  test('takes the organization from the project', async () => {
    const apiKey = await tenant.key([`${tenant.paths.project}/**:r`])
    expect(await travel(tenant.scope.projectId)).toMatchObject({ status: 200, body: { worlds: [] } })
    expect(await travel(tenant.scope.projectId, apiKey)).toMatchObject({ status: 200, body: { worlds: [] } })
  })

  test('answers for a foreign project as for an absent one', async () => {
    const apiKey = await tenant.key([`${tenant.paths.organization}/**:*`])
    const foreign = (await aTenant(api.url)).scope.projectId
    for (const projectId of [foreign, `prj-${'0'.repeat(26)}`])
      expect((await travel(projectId, apiKey)).status).toBe(404)
  })
})

describe('times', () => {
  const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  test('of creation and of the last change are in worlds and bot deployments', async () => {
    const path = `/api/worlds/${await tenant.world()}/`
    await tenant.rest.call('POST', `${path}bots/`, { count: 0 })
    type Timed = { documentId: string; createdAt: string; updatedAt: string }
    const [bots] = (await tenant.rest.call<Timed[]>('GET', `${path}bots/`)).body
    for (const [at, body] of [
      [path, { name: 'Foyer' }],
      [`${path}bots/${bots?.documentId}/`, { count: 1 }],
    ] as const) {
      const { body: before } = await tenant.rest.call<Timed>('GET', at)
      expect(before).toMatchObject({ createdAt: instant, updatedAt: before.createdAt })
      await tenant.rest.call('PATCH', at, body)
      const { body: after } = await tenant.rest.call<Timed>('GET', at)
      expect(after.createdAt).toBe(before.createdAt)
      expect(after.updatedAt > before.updatedAt).toBe(true)
    }
  })
})

describe('members without a value', () => {
  test('have their natural empty value in a world and its launch context', async () => {
    const { body } = await tenant.rest.call<World>('GET', `/api/worlds/${await tenant.world()}/`)
    expect(body).toMatchObject({ description: '', launchContext: { description: '', splashScreenUrl: '' } })
  })

  test('have their natural empty value in an organization', async () => {
    const { body } = await tenant.rest.call('GET', '/api/organizations/current/')
    const none = { termsOfService: [], privacyPolicy: [], chatRules: [], partnerPrivacyPolicy: [], eula: [] }
    const empty = { featuredEventId: '', websiteInfo: { title: '', headTags: [] }, legalPolicies: none }
    expect(body).toMatchObject(empty)
    const { body: all } = await tenant.rest.call<{ documentId: string }[]>('GET', '/api/organizations/')
    expect(all.find(({ documentId }) => documentId === tenant.scope.organizationId)).toMatchObject(empty)
  })
})

describe('a validation error', () => {
  const faultsOf = async (method: string, path: string, body: object): Promise<Fault[] | undefined> => {
    const answer = await tenant.rest.call<Problem>(method, path, body)
    expect(answer.status).toBe(400)
    return answer.body.errors
  }
  const build = (reference: unknown) => ({ ...lobby, runtime: { build: reference } })

  test.each<[string, object, Fault[]]>([
    ['a missing field', { name: 'Lobby' }, [{ path: '/transient', message: 'required' }]],
    ['half a build', build({ channelId: 'c' }), [{ path: '/runtime/build/tag', message: 'required' }]],
    ['the other half', build({ tag: 't' }), [{ path: '/runtime/build/channelId', message: 'required' }]],
    ['a content without id', build({ content: {} }), [{ path: '/runtime/build/content/id', message: 'required' }]],
    [
      'an empty build',
      build({}),
      [{ path: '/runtime/build', message: 'must have the fields channelId and tag, or the field content' }],
    ],
    [
      'two kinds of build',
      build({ channelId: 'c', tag: 't', content: { id: 'x' } }),
      [{ path: '/runtime/build/content', message: 'cannot be combined with channelId and tag' }],
    ],
    [
      'a field at the wrong place',
      { ...lobby, durationMinutes: 5 },
      [{ path: '/durationMinutes', message: 'unknown field; it belongs at /runtime/durationMinutes' }],
    ],
    [
      'a field of two places',
      { ...lobby, capacity: 5 },
      [{ path: '/capacity', message: 'unknown field; it belongs at /admission/capacity or /runtime/capacity' }],
    ],
    ['an unknown field', { ...lobby, speed: 5 }, [{ path: '/speed', message: 'unknown field' }]],
  ])('names %s', async (_, body, faults) => {
    expect(await faultsOf('POST', '/api/worlds/', body)).toEqual(faults)
  })

  test('says which fields of a PATCH cannot be changed', async () => {
    const path = `/api/worlds/${await tenant.world()}/`
    expect(await faultsOf('PATCH', path, { transient: true, sessions: {}, documentId: 'x' })).toEqual([
      { path: '/transient', message: 'cannot be changed' },
      { path: '/sessions', message: 'cannot be changed' },
      { path: '/documentId', message: 'is read-only' },
    ])
    expect(await faultsOf('PATCH', '/api/organizations/current/', { websiteInfo: {} })).toEqual([
      { path: '/websiteInfo', message: 'cannot be changed' },
    ])
    await tenant.rest.call('POST', `${path}bots/`, { count: 0 })
    const [bots] = (await tenant.rest.call<{ documentId: string }[]>('GET', `${path}bots/`)).body
    expect(await faultsOf('PATCH', `${path}bots/${bots?.documentId}/`, { count: 0, description: 'x' })).toEqual([
      { path: '/description', message: 'cannot be changed' },
    ])
  })
})

describe('the list of deployments', () => {
  type Run = { runId: string; status: string; externalId: string; runtime: object; networking: object }
  const list = async (id: string) => (await tenant.rest.call<Run[]>('GET', `/api/worlds/${id}/deployments/`)).body
  const post = (id: string, action: string) => tenant.rest.call('POST', `/api/worlds/${id}/${action}/`)
  const runId = async (id: string) =>
    (await tenant.rest.call<{ status: { runId: string } }>('GET', `/api/worlds/${id}/`)).body.status.runId

  test('shows a run as soon as it is started, without an operator', async () => {
    const id = await tenant.world({ runtime: { mapName: 'hall', durationMinutes: 5 } })
    expect(await list(id)).toEqual([])
    expect((await post(id, 'start')).status).toBe(200)
    expect(await list(id)).toMatchObject([
      {
        runId: await runId(id),
        status: 'Pending',
        externalId: '',
        worldId: id,
        ...tenant.scope,
        id: `dep-${(await runId(id)).slice(4)}`,
        networking: { scaling: { profile: 'Capacity30' } },
        compute: { clusterName: 'default', group: 'production', region: 'Europe' },
        runtime: { build: {}, mapName: 'hall', durationMinute: 5, args: [] },
      },
    ])
  })

  test('keeps runs that were stopped or superseded before they had a pod', async () => {
    const id = await tenant.world()
    await post(id, 'start')
    await post(id, 'start')
    expect((await list(id)).map(({ status }) => status)).toEqual(['Stopped', 'Pending'])
    await post(id, 'stop')
    const runs = await list(id)
    expect(runs).toMatchObject([
      { status: 'Stopped', endReason: 'Superseded' },
      { status: 'Stopped', endReason: 'Stopped' },
    ])
    expect(runs.at(-1)?.runId).toBe(await runId(id))
  })
})
