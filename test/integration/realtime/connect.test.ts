import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aKey, aToken } from '#test/support/keys.ts'
import { type ApiProcess, aDatabase, logLines, rootApiKey, startApi } from '#test/support/processes.ts'
import { createRest, inNewProject } from '#test/support/rest.ts'
import { listOf, openSocket, refusalOf, type SocketScope, scopeHeaders } from '#test/support/socket.ts'
import { expectWithin } from '#test/support/timing.ts'
import { eventually } from '#test/support/wait.ts'

const page = 'https://play.example.com'
let api: ApiProcess
let other: ApiProcess
beforeAll(async () => {
  const databaseUrl = await aDatabase()
  const limits = { ORRERY_LIMIT_SOCKETS_PER_KEY: '3', ORRERY_LIMIT_SOCKETS_PER_ADDRESS: '100' }
  const settings = { ORRERY_ALLOWED_ORIGINS: page, ...limits }
  api = await startApi({ databaseUrl, settings })
  other = await startApi({ databaseUrl, settings })
})
afterAll(() => Promise.all([api?.stop(), other?.stop()]))

const aProject = () => inNewProject(api.url)
const absent = {
  organizationId: 'org-00000000000000000000000000',
  projectId: 'prj-00000000000000000000000000',
  worldId: 'wld-00000000000000000000000000',
}
const refusal = (scope: SocketScope, more: Record<string, string> = {}) =>
  refusalOf(api.url, { headers: { ...scopeHeaders(scope), ...more } })

describe('a connection', () => {
  test('accepts a credential in headers, without a subprotocol in the response', async () => {
    const { scope } = await aProject()
    const client = await openSocket(api.url, scope)
    expect(client.ws.protocol).toBe('')
    expect(client.ws.extensions).toBe('')
  })

  test('accepts a single subprotocol in base58 and answers it', async () => {
    const { scope } = await aProject()
    const list = listOf(scopeHeaders(scope))
    const client = await openSocket(api.url, scope, { headers: {}, protocols: [list] })
    expect(client.ws.protocol).toBe(list)
    client.subscribe('liveConfig', 'a')
    await client.hears('the warning', ({ warning }) => warning !== undefined)
  })

  test('accepts a credential as a subprotocol beside orrery.v1, and answers only the latter', async () => {
    const { scope } = await aProject()
    const headers = scopeHeaders(scope)
    for (const protocols of [
      ['orrery.v1', listOf(headers)],
      [listOf(headers), 'orrery.v1'],
    ]) {
      const client = await openSocket(api.url, scope, { headers: {}, protocols })
      expect(client.ws.protocol).toBe('orrery.v1')
    }
  })

  test('accepts header names without -id, in any case', async () => {
    const { scope } = await aProject()
    const list = listOf({
      'X-API-Key': rootApiKey,
      'X-SVC-Organization': scope.organizationId ?? '',
      'x-svc-project': ` ${scope.projectId}`,
      'x-svc-world-id': '',
    })
    await openSocket(api.url, scope, { headers: {}, protocols: [list] })
  })

  test('derives the project from the world', async () => {
    const rest = await aProject()
    const { body } = await rest.call<{ worldId: string }>('POST', '/api/worlds/', { name: 'Lobby', transient: false })
    const organizationId = rest.scope.organizationId ?? ''
    const client = await openSocket(api.url, { organizationId, worldId: body.worldId })
    const inWorld = { 'x-svc-world-id': body.worldId }
    await rest.call('PUT', '/api/documents/liveConfig/settings/', { data: { id: 's', config: { on: 1 } } }, inWorld)
    client.subscribe('liveConfig', 'settings')
    await client.hears('the document of the world', ({ data }) => data !== undefined)
  })

  test('is also served without a trailing slash', async () => {
    const { scope } = await aProject()
    const refused = await refusalOf(api.url, {
      path: '/api/realtime/connect',
      headers: scopeHeaders({ ...scope, apiKey: 'no' }),
    })
    expect(refused.status).toBe(401)
  })
})

describe('refuses a handshake with an HTTP problem response', () => {
  test.each<[string, number, string, () => Promise<SocketScope>]>([
    ['an unknown key', 401, 'unauthenticated', async () => ({ ...(await aProject()).scope, apiKey: 'unknown' })],
    ['a bad token', 401, 'unauthenticated', async () => ({ ...(await aProject()).scope, token: 'a.b.c' })],
    ['no organization', 400, 'invalid_request', async () => ({})],
    ['an organization that does not exist', 404, 'not_found', async () => absent],
    ['an id that cannot be one', 404, 'not_found', async () => ({ organizationId: 'acme' })],
    [
      'a project of another organization',
      404,
      'not_found',
      async () => ({ ...(await aProject()).scope, projectId: (await aProject()).scope.projectId ?? '' }),
    ],
    [
      'a world that does not exist',
      404,
      'not_found',
      async () => ({ ...(await aProject()).scope, worldId: absent.worldId }),
    ],
  ])('for %s', async (_, status, code, scope) => {
    const refused = await refusal(await scope())
    expect(refused).toMatchObject({ status, body: { status, code, requestId: expect.any(String) } })
    expect(refused.headers['content-type']).toBe('application/problem+json')
  })

  test('for a scope on which the key has no verb, equal to one that does not exist', async () => {
    const [rest, foreign] = await Promise.all([aProject(), aProject()])
    const { organizationId, projectId } = rest.scope
    const key = await aKey(rest, { permissions: [`organizations/${organizationId}/projects/${projectId}:r`] })
    const refusedWith = async (scope: SocketScope) => {
      const { status, body } = await refusal({ ...scope, apiKey: key.apiKey })
      return { status, body: { ...body, requestId: '' } }
    }
    const refusedAsAbsent = await refusedWith({ organizationId: absent.organizationId })
    expect(refusedAsAbsent.status).toBe(404)
    expect(await refusedWith({ organizationId: foreign.scope.organizationId ?? '' })).toEqual(refusedAsAbsent)
    expect(await refusedWith({ organizationId: organizationId ?? '' })).toEqual(refusedAsAbsent)
    await openSocket(api.url, { ...rest.scope, apiKey: key.apiKey })
  })

  test.each([
    ['that is not base58', '0OIl'],
    ['that is not a list of headers', listOf({ cookie: 'a=b' })],
    ['that is longer than 2,048 characters', '1'.repeat(2_049)],
  ])('for a protocol %s, which it does not quote', async (_, list) => {
    const refused = await refusalOf(api.url, { protocols: [list] })
    expect(refused).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
    expect(JSON.stringify(refused)).not.toContain(list)
  })

  test('for a subprotocol list that contradicts the headers', async () => {
    const { scope } = await aProject()
    const protocols = [listOf({ 'x-svc-organization-id': absent.organizationId })]
    expect(await refusalOf(api.url, { headers: scopeHeaders(scope), protocols })).toMatchObject({ status: 400 })
  })

  test('for a page of an origin that is not allowed', async () => {
    const { scope } = await aProject()
    expect(await refusal(scope, { origin: 'https://evil.example' })).toMatchObject({
      status: 403,
      body: { code: 'forbidden' },
    })
    const headers = { ...scopeHeaders(scope), origin: page }
    await openSocket(api.url, scope, { headers })
    await openSocket(api.url, scope, { headers: { ...headers, origin: api.url } })
  })

  test('for a page of another name of the API than that of the request, and not for one of the same name', async () => {
    const { scope } = await aProject()
    const origin = api.url.replace('127.0.0.1', 'localhost')
    expect(await refusal(scope, { origin })).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    await openSocket(origin, scope, { headers: { ...scopeHeaders(scope), origin } })
  })

  test('for a request that is not an upgrade, or has another version', async () => {
    const { scope } = await aProject()
    const plain = await fetch(`${api.url}/api/realtime/connect/`, { headers: scopeHeaders(scope) })
    expect(plain.status).toBe(426)
    expect(plain.headers.get('upgrade')).toBe('websocket')
    const status = await new Promise((resolve) => {
      const headers = { connection: 'upgrade', upgrade: 'websocket', 'sec-websocket-version': '8' }
      request(`${api.url}/api/realtime/connect/`, { headers })
        .on('response', (response) => resolve(response.statusCode))
        .end()
    })
    expect(status).toBe(426)
  })

  test.each<[number, SocketScope, Record<string, string>]>([
    [401, { apiKey: 'unknown' }, {}],
    [400, {}, { 'x-svc-organization-id': '' }],
    [404, absent, {}],
    [403, {}, { origin: 'https://evil.example' }],
  ])('with %i also for a plain request, so that pages can read the reason', async (status, of, more) => {
    const { scope } = await aProject()
    const headers = { ...scopeHeaders({ ...scope, ...of }), ...more }
    expect((await fetch(`${api.url}/api/realtime/connect/`, { headers })).status).toBe(status)
  })

  test('beyond the connections of one key, until another one ends', async () => {
    const rest = await aProject()
    const { apiKey } = await aKey(rest, { permissions: [`organizations/${rest.scope.organizationId}/**:r`] })
    const clients = []
    for (let at = 0; at < 3; at += 1) clients.push(await openSocket(api.url, { ...rest.scope, apiKey }))
    const refused = await refusal({ ...rest.scope, apiKey })
    expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    clients[0]?.ws.close()
    await eventually('a place', async () => (await openSocket(api.url, { ...rest.scope, apiKey })).isOpen())
  })

  test('beyond the connections of one address, until another one ends', async () => {
    const { scope } = await aProject()
    const from = (localAddress: string) => ({ headers: scopeHeaders(scope), localAddress })
    const clients = []
    for (let at = 0; at < 100; at += 1) clients.push(await openSocket(api.url, scope, from('127.0.0.2')))
    const refused = await refusalOf(api.url, from('127.0.0.2'))
    expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
    await openSocket(api.url, scope, from('127.0.0.3'))
    clients[0]?.ws.close()
    await eventually('a place', async () => (await openSocket(api.url, scope, from('127.0.0.2'))).isOpen())
  })

  test('answers an upgrade of another path over HTTP', async () => {
    const { status } = await refusalOf(api.url, { path: '/api/worlds/', headers: { 'x-api-key': 'unknown' } })
    expect(status).toBe(401)
  })
})

describe('permissions', () => {
  test('are checked for each resource and scope', async () => {
    const rest = await aProject()
    const { organizationId, projectId } = rest.scope
    const key = await aKey(rest, { permissions: [`organizations/${organizationId}/projects/${projectId}:r`] })
    const { body } = await rest.call<{ worldId: string }>('POST', '/api/worlds/', { name: 'Lobby', transient: false })
    const client = await openSocket(api.url, { ...rest.scope, apiKey: key.apiKey })
    client.subscribe('liveConfig', 'Organization:a')
    await client.hears(
      'the error',
      ({ error, resource }) => error === 'No permission' && resource?.id === 'Organization:a',
    )
    client.subscribe('world', body.worldId)
    await client.hears('the warning', ({ resource, warning }) => resource?.id === body.worldId && warning !== undefined)
    await rest.call('POST', `/api/worlds/${body.worldId}/start/`)
    client.subscribe('liveConfig', 'a')
    await client.hears('the warning', ({ warning, resource }) => warning !== undefined && resource?.id === 'a')
    expect(client.updatesOf(body.worldId)).toEqual([])
    // Additional permissions make a document visible that was subscribed to in vain, without another subscribe.
    await key.patch({ permissions: [`organizations/${organizationId}/projects/${projectId}/**:r`] })
    await client.hears('the world', ({ data, resource }) => data !== undefined && resource?.id === body.worldId)
  })

  test('that a key loses end only its own subscriptions, with an error', async () => {
    const rest = await aProject()
    const { organizationId, projectId } = rest.scope
    const project = `organizations/${organizationId}/projects/${projectId}:r`
    const key = await aKey(rest, { permissions: [project, `organizations/${organizationId}:r`] })
    const client = await openSocket(other.url, { ...rest.scope, apiKey: key.apiKey })
    client.subscribe('liveConfig', 'Organization:a')
    client.subscribe('liveConfig', 'a')
    await client.hears('both', () => client.heard.length === 2)
    await key.patch({ permissions: [project] })
    await client.hears(
      'the end of one',
      ({ error, resource }) => error === 'No permission' && resource?.id === 'Organization:a',
    )
    const put = (id: string) => rest.call('PUT', `/api/documents/liveConfig/${id}/`, { data: { id: 'a', config: {} } })
    await put('Organization:a')
    await put('a')
    await client.hears('the other', ({ data }) => data !== undefined)
    expect(client.updatesOf('Organization:a')).toEqual([])
  })

  test.each(['revoked', 'deactivated'])(
    'of a key that is %s end its sockets within a second, on every replica',
    async (how) => {
      const rest = await aProject()
      const key = await aKey(rest, { permissions: [`organizations/${rest.scope.organizationId}/**:r`] })
      const scope = { ...rest.scope, apiKey: key.apiKey }
      const clients = await Promise.all([api, other].map(({ url }) => openSocket(url, scope)))
      const bystander = await openSocket(other.url, rest.scope)
      await (how === 'revoked' ? key.revoke() : key.patch({ isActive: false }))
      const atMs = performance.now()
      for (const client of clients) expect((await client.closes()).code).toBe(4401)
      expectWithin(performance.now() - atMs, 1_000)
      expect(bystander.isOpen()).toBe(true)
    },
  )

  test('of a bot reach its world and nothing else', async () => {
    const rest = await aProject()
    const { organizationId, projectId } = rest.scope
    const { body } = await rest.call<{ worldId: string }>('POST', '/api/worlds/', { name: 'Lobby', transient: false })
    const permissions = [
      `organizations/${organizationId}/**:r`,
      `organizations/${organizationId}/projects/${projectId}/worlds/${body.worldId}:r`,
    ]
    const { apiKey } = await aKey(rest, { permissions, claims: { bot: true } })
    expect((await refusal({ ...rest.scope, apiKey })).status).toBe(404)
    const client = await openSocket(api.url, { ...rest.scope, worldId: body.worldId, apiKey })
    client.subscribe('world', body.worldId)
    await client.hears('its world', ({ data }) => data?.phase === 'Inactive')
    client.subscribe('liveConfig', 'Project:a')
    await client.hears('a refusal', ({ error }) => error === 'No permission')
  })

  test('of a user come from the token, by header or list', async () => {
    const rest = await aProject()
    const token = await aToken(rest, 'ann', [`organizations/${rest.scope.organizationId}/**:r`])
    const scope = { ...rest.scope, token }
    for (const options of [{}, { headers: {}, protocols: ['orrery.v1', listOf(scopeHeaders(scope))] }]) {
      const client = await openSocket(api.url, scope, options)
      client.subscribe('liveConfig', 'a')
      await client.hears('the warning', ({ warning }) => warning !== undefined)
    }
    expect((await refusal({ ...(await aProject()).scope, token })).status).toBe(404)
  })
})

test('logs connections as requests, without credentials in any form', async () => {
  const rest = await aProject()
  const { apiKey } = await aKey(rest, { permissions: [`organizations/${rest.scope.organizationId}/**:r`] })
  const headers = scopeHeaders({ ...rest.scope, apiKey })
  await openSocket(api.url, rest.scope, { headers: { 'x-request-id': 'socket-1' }, protocols: [listOf(headers)] })
  await refusalOf(api.url, {
    headers: { 'x-request-id': 'socket-2' },
    protocols: [listOf({ ...headers, 'x-svc-organization-id': absent.organizationId })],
  })
  const lines = await eventually('the lines of both', async () => {
    const logged = logLines(api.logFile)
    return logged.some(({ requestId }) => requestId === 'socket-2') && logged
  })
  expect(lines.find(({ requestId }) => requestId === 'socket-1')).toMatchObject({
    route: '/api/realtime/connect/',
    status: 101,
    organizationId: rest.scope.organizationId,
  })
  for (const secret of [apiKey, rootApiKey, listOf(headers)]) expect(JSON.stringify(lines)).not.toContain(secret)
  expect((await createRest(api.url).call('GET', '/api/worlds/scalingProfiles/')).status).toBe(200)
})
