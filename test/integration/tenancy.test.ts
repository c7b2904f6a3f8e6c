import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Registry } from 'prom-client'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApp } from '#api/app.ts'
import { readApiConfig } from '#api/config.ts'
import { createDeps } from '#api/deps.ts'
import { sweepPictures } from '#api/domain/deletion/sweep/service.ts'
import type { Endpoint, Scope } from '#api/domain/endpoint/endpoint.ts'
import { endpoints } from '#api/endpoints.ts'
import { openDatabase } from '#api/platform/database/client.ts'
import { openObjectStore } from '#api/platform/objects/open.ts'
import { systemClock } from '#shared/clock.ts'
import { createIdSource, type IdKind } from '#shared/ids.ts'
import { createLog } from '#shared/log.ts'
import { dumpRows } from '#test/support/dump.ts'
import { type ApiProcess, aDatabase, apiSecrets, rootApiKey, startApi } from '#test/support/processes.ts'
import { send } from '#test/support/rest.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

/** Everything that a request can name. */
type Things = Record<
  | 'organizationId'
  | 'projectId'
  | 'worldId'
  | 'botDeploymentId'
  | 'apiKeyId'
  | 'channelId'
  | 'tag'
  | 'userId'
  | 'tokenId'
  | 'id',
  string
>
type Credential = { readonly apiKey?: string; readonly token?: string }

const png = new Uint8Array(
  await sharp({ create: { width: 4, height: 4, channels: 3, background: 'red' } })
    .png()
    .toBuffer(),
)
const lobby = { name: 'Lobby', transient: false }
const documentBodies = {
  KvStore: { data: { key: 'k', store: 'kvstoreClient', data: 1 } },
  Collection: { data: { userId: 'u', datasourceId: 'd', userCollection: [] } },
  LiveConfig: { data: { id: 'i', config: {} } },
}

/**
 * The matrix: a good request of every route, by its operationId. What its path names comes from the things; a body says
 * what an attacker would most like to have done. A route that is not here fails the first test.
 */
const bodies: Record<string, (of: Things) => unknown> = {
  listOrganizations: () => undefined,
  createOrganization: () => ({ name: 'Taken' }),
  getOrganization: () => undefined,
  getOrganizationById: () => undefined,
  patchOrganization: () => ({ name: 'Taken' }),
  patchOrganizationById: () => ({ name: 'Taken' }),
  putOrganizationPicture: () => png,
  putOrganizationPictureById: () => png,
  patchLimits: () => ({ maxWorlds: 0 }),
  getUsage: () => undefined,
  listApiKeys: () => undefined,
  createApiKey: (of) => ({ displayName: 'Mine', permissions: [`organizations/${of.organizationId}/**:r`] }),
  patchApiKey: () => ({ displayName: 'Mine', isActive: false }),
  deleteApiKey: () => undefined,
  listProjects: () => undefined,
  createProject: () => ({ name: 'Taken' }),
  getProject: () => undefined,
  patchProject: (of) => ({ documentId: of.projectId, name: 'Taken' }),
  deleteProject: () => undefined,
  listScalingProfiles: () => undefined,
  listPublicWorlds: () => undefined,
  listTravelLocations: () => undefined,
  listWorlds: () => undefined,
  createWorld: () => lobby,
  resolveBuildAndContent: (of) => ({ channelId: of.channelId, tag: of.tag }),
  getWorld: () => undefined,
  patchWorld: () => ({ name: 'Taken', isPublic: true }),
  deleteWorld: () => undefined,
  putWorldPicture: () => png,
  startWorld: () => undefined,
  stopWorld: () => undefined,
  listWorldDeployments: () => undefined,
  getWorldAccess: () => undefined,
  listBotDeployments: () => undefined,
  createBotDeployment: () => ({ count: 1 }),
  getBotDeployment: () => undefined,
  patchBotDeployment: () => ({ count: 2 }),
  deleteBotDeployment: () => undefined,
  getBuild: () => undefined,
  putBuild: () => ({ image: 'registry.example/mine:1', contentId: 'mine' }),
  deleteBuild: () => undefined,
  ...Object.fromEntries(
    Object.entries(documentBodies).flatMap(([type, body]) => [
      [`get${type}`, () => undefined],
      [`put${type}`, () => body],
      [`delete${type}`, () => undefined],
    ]),
  ),
  rotateApiKey: () => ({ overlapSeconds: 0 }),
  createToken: () => ({ durationMinutes: 1 }),
  revokeToken: () => undefined,
  getJsonWebKeySet: () => undefined,
}

/** Routes beside the table: they tell nothing of a tenant, but for pictures, which are public by their address. */
const openRoutes = [
  'GET /livez',
  'GET /readyz',
  'GET /api/openapi.json',
  'GET /api/docs/',
  'GET /api/docs/:file/',
  'GET /api/files/*',
  'GET /api/realtime/connect/',
]

let api: ApiProcess
let databaseUrl: string
beforeAll(async () => {
  databaseUrl = await aDatabase()
  const settings = {
    ORRERY_LIMIT_REQUESTS_PER_SECOND: '100000',
    ORRERY_LIMIT_REQUEST_BURST: '100000',
    ORRERY_LIMIT_STARTS_PER_MINUTE: '100000',
    ORRERY_LIMIT_FAILED_CREDENTIALS_PER_MINUTE: '100000',
    // The contract's URLs have ports of at most four digits; those of tests have five.
    ORRERY_PUBLIC_URL: 'http://api.example:8080',
    ORRERY_ALLOW_INSECURE_PUBLIC_URL: 'true',
  }
  api = await startApi({ databaseUrl, settings })
})
afterAll(() => api?.stop())

const sees = {
  organization: (scope: Scope) => scope !== 'none',
  project: (scope: Scope) => scope !== 'none' && scope !== 'organization',
}

const request = async (endpoint: Endpoint, of: Things, credential: Credential, more: Record<string, string> = {}) => {
  const { scope = 'none', method, path, operationId } = endpoint
  const body = bodies[operationId]?.(of)
  const names: Record<string, string> = of
  const sent =
    body instanceof Uint8Array
      ? { type: 'image/png', body: new Uint8Array(body) }
      : body === undefined
        ? undefined
        : { type: 'application/json', body: JSON.stringify(body) }
  return send(api.url, {
    method: method.toUpperCase(),
    path: path.replaceAll(/\{(\w+)\}/g, (_, name: string) => names[name] ?? ''),
    headers: {
      ...(credential.apiKey === undefined ? {} : { 'x-api-key': credential.apiKey }),
      ...(credential.token === undefined ? {} : { authorization: `Bearer ${credential.token}` }),
      ...(sees.organization(scope) ? { 'x-svc-organization-id': of.organizationId } : {}),
      ...(sees.project(scope) ? { 'x-svc-project-id': of.projectId } : {}),
      ...(sent ? { 'content-type': sent.type } : {}),
      ...more,
    },
    ...(sent ? { body: sent.body } : {}),
  })
}

/** Returns the parts of a response that could reveal something: all but those that differ for every request. */
const told = ({ status, headers, text }: Awaited<ReturnType<typeof send>>) => ({
  status,
  text: text.replace(/"requestId":"[^"]+"/, '"requestId":""'),
  headers: [...headers].filter(([name]) => !/^(date|x-request-id|ratelimit-.*)$/.test(name)).sort(),
})

/** A tenant that has one of everything. */
const aFullTenant = async (suffix: string): Promise<{ tenant: Tenant; things: Things }> => {
  const tenant = await aTenant(api.url)
  const { rest } = tenant
  const worldId = await tenant.world()
  const bots = await rest.call('POST', `/api/worlds/${worldId}/bots/`, { count: 1 })
  const botDeploymentId = bots.headers.get('location')?.split('/').at(-2) ?? ''
  await tenant.key([`${tenant.paths.organization}:r`])
  const keys = await rest.call<{ documentId: string }[]>('GET', '/api/organizations/apiKeys/')
  const apiKeyId = keys.body[0]?.documentId ?? ''
  const [channelId, tag] = [`channel-${suffix}`, `tag-${suffix}`]
  await rest.call('PUT', `/api/builds/${channelId}/${tag}/`, {
    image: 'registry.example/server:1',
    contentId: `content-${suffix}`,
  })
  const id = `document-${suffix}`
  for (const [type, body] of Object.entries(documentBodies)) {
    await rest.call('PUT', `/api/documents/${type.charAt(0).toLowerCase()}${type.slice(1)}/${id}/`, body)
  }
  const things = {
    ...tenant.scope,
    worldId,
    botDeploymentId,
    apiKeyId,
    channelId,
    tag,
    id,
    userId: 'user-7',
    tokenId: absentId('token'),
  }
  return { tenant, things }
}

const prefixes = { organization: 'org', project: 'prj', world: 'wld', bot: 'bot', apiKey: 'key', token: 'tok' }
const absentId = (kind: IdKind & keyof typeof prefixes): string => `${prefixes[kind]}-${'0'.repeat(26)}`
/** Names that are well formed and that nobody has. */
const absent = (of: Things): Things => ({
  ...of,
  organizationId: absentId('organization'),
  projectId: absentId('project'),
  worldId: absentId('world'),
  botDeploymentId: absentId('bot'),
  apiKeyId: absentId('apiKey'),
  channelId: 'channel-nobody',
  tag: 'tag-nobody',
  id: 'document-nobody',
})

/** Asks, and fails where any row is another afterwards. */
const changingNothing = async <T>(ask: () => Promise<T>): Promise<T> => {
  await eventually('nothing waits for the cluster', async () => !(await dumpRows(databaseUrl)).waiting)
  const before = await dumpRows(databaseUrl)
  const answer = await ask()
  expect((await dumpRows(databaseUrl)).rows).toEqual(before.rows)
  return answer
}

const byName = endpoints.map((endpoint): [string, Endpoint] => [endpoint.operationId, endpoint])
const byOperation = (operationId: string): Endpoint => {
  const endpoint = endpoints.find((candidate) => candidate.operationId === operationId)
  if (endpoint === undefined) throw new Error(`no endpoint ${operationId}`)
  return endpoint
}
const needsCredential = byName.filter(([, { credential }]) => credential !== 'none')

test('the matrix knows every route of the live router', async () => {
  const { db, close } = openDatabase({ url: databaseUrl, poolSize: 1 })
  const config = readApiConfig({
    ORRERY_DATABASE_URL: databaseUrl,
    ORRERY_ROOT_API_KEY: rootApiKey,
    ORRERY_PUBLIC_URL: api.url,
    ...apiSecrets(),
  })
  const parts = {
    db,
    clock: systemClock,
    newId: createIdSource(systemClock),
    log: createLog({ name: 'test', level: 'error' }),
    objects: await openObjectStore(config.objectStoreUrl),
    wakeSync: () => undefined,
  }
  const { routes } = createApp({
    deps: createDeps(parts, config),
    rootApiKey,
    verifyToken: async () => undefined,
    rateLimits: config.rateLimits,
    allowedOrigins: [],
    clientAddress: () => '',
    projectOfWorld: async () => undefined,
    registry: new Registry(),
    isReady: async () => true,
  })
  const routed = routes.filter(({ method }) => method !== 'ALL').map(({ method, path }) => `${method} ${path}`)
  const inTable = endpoints.map(({ method, path }) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`)
  expect(routed.sort()).toEqual([...openRoutes, ...inTable].sort())
  expect(endpoints.map(({ operationId }) => operationId).sort()).toEqual(Object.keys(bodies).sort())
  await close()
})

describe('no credential', () => {
  let victim: Awaited<ReturnType<typeof aFullTenant>>
  const bad: [string, Credential][] = []
  beforeAll(async () => {
    victim = await aFullTenant('victim')
    const { tenant, things } = victim
    const everything = [`${tenant.paths.organization}/**:*`]
    const good = { apiKey: await tenant.key(everything), token: await tenant.token(things.userId, everything) }
    const [revoked, inactive] = [await tenant.key(everything), await tenant.key(everything, { isActive: false })]
    const keys = await tenant.rest.call<{ documentId: string; keyString: string }[]>(
      'GET',
      '/api/organizations/apiKeys/',
    )
    const id = keys.body.find(({ keyString }) => keyString === revoked)?.documentId
    expect((await tenant.rest.call('DELETE', `/api/organizations/apiKeys/${id}/`)).status).toBe(204)
    const last = good.apiKey.at(-1) === 'a' ? 'b' : 'a'
    bad.push(
      ['none', {}],
      ['a key that is no key', { apiKey: 'x' }],
      ['a key with another checksum', { apiKey: good.apiKey.slice(0, -1) + last }],
      ['a token that is no token', { token: 'a.b.c' }],
      ['a token as the key', { apiKey: good.token }],
      ['a key as the token', { token: good.apiKey }],
      ['an inactive key', { apiKey: inactive }],
      ['a revoked key', { apiKey: revoked }],
    )
  })

  test.each(needsCredential)('returns 401 for %s and changes nothing', async (_, endpoint) => {
    await changingNothing(async () => {
      for (const [which, credential] of bad) {
        const answer = await request(endpoint, victim.things, credential)
        expect([which, answer.status]).toEqual([which, 401])
        expect(answer.headers.get('www-authenticate')).toMatch(/^(ApiKey|Bearer)/)
      }
    })
  })

  test('of the other kind returns 401', async () => {
    const { tenant, things } = victim
    const everything = [`${tenant.paths.organization}/**:*`]
    const [apiKey, token] = [await tenant.key(everything), await tenant.token(things.userId, everything)]
    for (const [name, endpoint] of needsCredential) {
      if (endpoint.credential === 'keyOrToken') continue
      const swapped = endpoint.credential === 'token' ? { apiKey } : { token }
      expect([name, (await request(endpoint, things, swapped)).status]).toEqual([name, 401])
    }
  })
})

describe('the owner of another organization', () => {
  let victim: Awaited<ReturnType<typeof aFullTenant>>
  let own: Awaited<ReturnType<typeof aFullTenant>>
  let credential: Required<Credential>
  const claims = { largeWorlds: true, worldServer: true }
  beforeAll(async () => {
    ;[victim, own] = [await aFullTenant('foreign'), await aFullTenant('own')]
    const everything = [`${own.tenant.paths.organization}/**:*`]
    credential = {
      apiKey: await own.tenant.key(everything, { claims }),
      token: await own.tenant.token('user-7', everything),
    }
  })
  const as = ({ credential: accepted }: Endpoint): Credential =>
    accepted === 'token' ? { token: credential.token } : { apiKey: credential.apiKey }

  /** Operations that need no permission in an organization. None of them is about the victim. */
  const forAll: Record<string, number> = {
    listOrganizations: 200,
    createOrganization: 403,
    getOrganization: 200,
    getOrganizationById: 200,
    listScalingProfiles: 200,
    listPublicWorlds: 200,
    getWorldAccess: 200,
    getJsonWebKeySet: 200,
  }
  /** Keyless reads are open to all, so that they do tell a foreign organization from an absent one. */
  const keyless = ['getOrganization', 'getOrganizationById']

  test.each(byName)(
    'gets the same response from %s for a foreign resource as for an absent one, and changes nothing',
    async (name, endpoint) => {
      await changingNothing(async () => {
        const foreign = await request(endpoint, victim.things, as(endpoint))
        expect(foreign.status).toBe(forAll[name] ?? 404)
        if (keyless.includes(name)) return
        expect(told(foreign)).toEqual(told(await request(endpoint, absent(victim.things), as(endpoint))))
        expect(foreign.text).not.toContain(victim.things.organizationId)
        expect(foreign.text).not.toContain(victim.things.worldId)
      })
    },
  )

  const inPath = byName.flatMap(([name, endpoint]) =>
    [...endpoint.path.matchAll(/\{(organizationId|worldId|botDeploymentId|apiKeyId)\}/g)].map(
      ([, param]): [string, string, Endpoint] => [name, param ?? '', endpoint],
    ),
  )
  test.each(inPath)(
    'gets the same response from %s for a foreign %s in the path as for an absent one',
    async (name, param, endpoint) => {
      await changingNothing(async () => {
        const withOne = (of: Things) => ({ ...own.things, [param]: of[param as keyof Things] })
        const asked = async (of: Things) => {
          // The header stays the stranger's own, also where the path names another organization.
          const headers = { 'x-svc-organization-id': own.things.organizationId }
          return request(endpoint, withOne(of), as(endpoint), headers)
        }
        const foreign = await asked(victim.things)
        expect(foreign.status).toBe(name === 'getWorldAccess' ? 200 : 404)
        expect(told(foreign)).toEqual(told(await asked(absent(own.things))))
      })
    },
  )

  const withProject = byName.filter(([, { scope = 'none' }]) => sees.project(scope))
  test.each(withProject)(
    'gets the same response from %s for a foreign project header as for an absent one',
    async (name, endpoint) => {
      await changingNothing(async () => {
        const asked = (projectId: string) => request(endpoint, { ...own.things, projectId }, as(endpoint))
        const foreign = await asked(victim.things.projectId)
        expect(foreign.status).toBe(name === 'getWorldAccess' ? 200 : 404)
        expect(told(foreign)).toEqual(told(await asked(absentId('project'))))
      })
    },
  )

  const documents = byName.filter(([, { path }]) => path.startsWith('/api/documents/'))
  test.each(documents)(
    'gets the same response from %s for a foreign world header or id as for absent ones',
    async (_, endpoint) => {
      await changingNothing(async () => {
        const inWorld = (worldId: string) => request(endpoint, own.things, as(endpoint), { 'x-svc-world-id': worldId })
        const foreign = await inWorld(victim.things.worldId)
        expect(foreign.status).toBe(404)
        expect(told(foreign)).toEqual(told(await inWorld(absentId('world'))))
        const named = (id: string) => request(endpoint, { ...own.things, id }, as(endpoint))
        expect(told(await named(`World:${victim.things.worldId}`))).toEqual(
          told(await named(`World:${absentId('world')}`)),
        )
      })
    },
  )

  test('cannot name a foreign node in the permissions of a key or a token', async () => {
    const { rest } = own.tenant
    const mine = { 'x-api-key': credential.apiKey }
    const foreign = (scope: { organizationId: string }) => [`organizations/${scope.organizationId}/**:r`]
    await changingNothing(async () => {
      for (const [path, more] of [
        ['/api/organizations/apiKeys/', { displayName: 'Theirs' }],
        ['/api/users/user-7/tokens/', {}],
      ] as const) {
        const asked = (of: { organizationId: string }) =>
          rest.call('POST', path, { ...more, permissions: foreign(of) }, mine)
        expect((await asked(victim.things)).status).toBe(403)
        expect((await asked({ organizationId: absentId('organization') })).status).toBe(403)
      }
      const other = await rest.call('PATCH', '/api/organizations/projects/current/', {
        documentId: victim.things.projectId,
      })
      expect(other.status).toBe(400)
    })
  })

  const pictureStatus = async (pictureUrl: string): Promise<number> =>
    (await fetch(new URL(new URL(pictureUrl).pathname, api.url))).status
  const leavingForeignPictures: [string, (worldId: string) => Promise<{ status: number }>][] = [
    ['clearing it', (worldId) => own.tenant.rest.call('PATCH', `/api/worlds/${worldId}/`, { pictureUrl: '' })],
    [
      'replacing it',
      (worldId) =>
        own.tenant.rest.call('PATCH', `/api/worlds/${worldId}/`, { pictureUrl: 'https://example.com/other.png' }),
    ],
    [
      'uploading over it',
      (worldId) => request(byOperation('putWorldPicture'), { ...own.things, worldId }, { apiKey: credential.apiKey }),
    ],
  ]
  test.each(leavingForeignPictures)(
    'removes no foreign picture by naming it in pictureUrl and %s',
    async (_, leave) => {
      const { tenant, things } = victim
      for (const operationId of ['putWorldPicture', 'putOrganizationPicture']) {
        const uploaded = await request(byOperation(operationId), things, { apiKey: rootApiKey })
        const { pictureUrl } = JSON.parse(uploaded.text) as { pictureUrl: string }
        const spellings = [
          pictureUrl,
          `${pictureUrl}/`,
          `${pictureUrl}?a`,
          pictureUrl.replace('/pictures/', '/pictures//'),
        ]
        for (const spelling of spellings) {
          const worldId = await own.tenant.world({ pictureUrl: spelling })
          expect((await leave(worldId)).status).toBeLessThan(300)
          expect(await pictureStatus(pictureUrl)).toBe(200)
        }
        const sibling = await tenant.world({ pictureUrl })
        expect((await tenant.rest.call('PATCH', `/api/worlds/${sibling}/`, { pictureUrl: '' })).status).toBe(200)
        expect(await pictureStatus(pictureUrl)).toBe(200)
      }
    },
  )

  test("keeps an upload that its owner's row names, for any public URL", async () => {
    const { db, close } = openDatabase({ url: databaseUrl, poolSize: 1 })
    const objects = await openObjectStore(pathToFileURL(await mkdtemp(join(tmpdir(), 'orrery-sweep-'))).href)
    const upload = async (worldId: string, digit: string) => {
      const name = `pictures/${worldId}/${digit.repeat(64)}.webp`
      await objects.put(name, png, 'image/webp')
      return name
    }
    const owner = await victim.tenant.world()
    const [kept, left] = [await upload(owner, 'a'), await upload(owner, 'b')]
    const urlOf = (name: string, host = 'api.example:8080') => `http://${host}/api/files/${name}`
    await victim.tenant.rest.call('PATCH', `/api/worlds/${owner}/`, { pictureUrl: urlOf(kept, 'before.example') })
    await own.tenant.world({ pictureUrl: urlOf(left) })
    const inTwoHours = { ...systemClock, now: () => systemClock.now() + 7_200_000 }
    const log = createLog({ name: 'test', level: 'error' })
    await sweepPictures({ db, objects, clock: inTwoHours, log }, new AbortController().signal)
    await close()
    expect((await objects.list({ prefix: 'pictures/', limit: 10 })).map(({ name }) => name)).toEqual([kept])
  })

  test('gains nothing from a permission on a foreign project or world under their own organization', async () => {
    const { projectId, worldId } = victim.things
    await victim.tenant.rest.call('POST', `/api/worlds/${worldId}/start/`)
    await setActive(worldId)
    const beneath = `${own.tenant.paths.organization}/projects/${projectId}`
    const { rest } = own.tenant
    const made = await rest.call<{ apiKey: string }>(
      'POST',
      '/api/organizations/apiKeys/',
      { displayName: 'Crooked', permissions: [`${beneath}/**:*`, `${beneath}/worlds/${worldId}:*`] },
      { 'x-api-key': credential.apiKey },
    )
    const crooked = { 'x-api-key': made.body.apiKey }
    const theirs = await send(api.url, {
      method: 'GET',
      path: '/api/worlds/travel/locations/',
      headers: { 'x-api-key': rootApiKey },
    })
    expect(theirs.text).toContain(worldId)
    const travel = (headers: Record<string, string>) =>
      send(api.url, { method: 'GET', path: '/api/worlds/travel/locations/', headers: { ...crooked, ...headers } })
    expect(await travel({})).toMatchObject({ status: 200, text: '{"worlds":[]}' })
    const mine = { 'x-svc-organization-id': own.things.organizationId }
    expect(await travel(mine)).toMatchObject({ status: 200, text: '{"worlds":[]}' })
    expect((await travel({ ...mine, 'x-svc-project-id': projectId })).status).toBe(404)
    const foreign = { 'x-svc-organization-id': victim.things.organizationId, 'x-svc-project-id': projectId }
    expect((await travel(foreign)).status).toBe(404)
    const listed = await rest.call('GET', '/api/worlds/', undefined, { ...crooked, 'x-svc-project-id': projectId })
    expect(listed.status).toBe(404)
  })
})

describe('a key of another project of the same organization', () => {
  /** Operations without a project, or on all projects. */
  const forAll: Record<string, number> = {
    listOrganizations: 200,
    createOrganization: 403,
    getOrganization: 200,
    getOrganizationById: 200,
    listScalingProfiles: 200,
    listPublicWorlds: 200,
    listProjects: 200,
    getJsonWebKeySet: 200,
  }
  let victim: Awaited<ReturnType<typeof aFullTenant>>
  let apiKey: string
  beforeAll(async () => {
    victim = await aFullTenant('neighbour')
    const made = await victim.tenant.rest.call<{ projectId: string }>('POST', '/api/organizations/projects/', {
      name: 'Other',
    })
    apiKey = await victim.tenant.key([`${victim.tenant.paths.organization}/projects/${made.body.projectId}/**:*`])
  })

  test.each(byName.filter(([, { credential }]) => credential !== 'token'))(
    'reads nothing of this one by %s, as if it were absent',
    async (name, endpoint) => {
      await changingNothing(async () => {
        const answer = await request(endpoint, victim.things, { apiKey })
        expect(answer.status).toBe(forAll[name] ?? 404)
        if (['getOrganization', 'getOrganizationById'].includes(name)) return
        expect(answer.text).not.toContain(victim.things.projectId)
        const nowhere = { ...absent(victim.things), organizationId: victim.things.organizationId }
        expect(told(answer)).toEqual(told(await request(endpoint, nowhere, { apiKey })))
      })
    },
  )
})

describe('a key that only reads', () => {
  let own: Awaited<ReturnType<typeof aFullTenant>>
  let apiKey: string
  beforeAll(async () => {
    own = await aFullTenant('read')
    apiKey = await own.tenant.key([`${own.tenant.paths.organization}/**:r`])
  })

  test.each(byName.filter(([, { credential }]) => credential !== 'token'))(
    'may read but not write by %s',
    async (name, endpoint) => {
      const reads = endpoint.method === 'get' || name === 'resolveBuildAndContent'
      await changingNothing(async () => {
        const answer = await request(endpoint, own.things, { apiKey })
        expect([answer.status, answer.text]).toEqual([reads ? (endpoint.status ?? 200) : 403, answer.text])
      })
    },
  )
})

// Last, because deletions wait for an operator, which there is none of, and the rows would not be quiet meanwhile.
test('every request of the matrix is a good one: with the platform key, or a token, it is done', async () => {
  for (const [at, [name, endpoint]] of byName.entries()) {
    const { tenant, things } = await aFullTenant(`good-${at}`)
    const credential =
      endpoint.credential === 'token' ? { token: await tenant.token(things.userId) } : { apiKey: rootApiKey }
    const answer = await request(endpoint, things, credential)
    expect([name, answer.status, answer.text]).toEqual([name, endpoint.status ?? 200, answer.text])
  }
}, 120_000)

/** Plays the operator, whose part here would be the phase alone. */
const setActive = async (worldId: string): Promise<void> => {
  const { db, close } = openDatabase({ url: databaseUrl, poolSize: 1 })
  await db.execute(`update worlds set phase = 'Active' where id = '${worldId}'`)
  await close()
}
