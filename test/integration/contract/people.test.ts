import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type JWTPayload, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { anIssuer, aPair, type Pair } from '#test/support/issuer.ts'
import { aKey, aToken } from '#test/support/keys.ts'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import { createRest } from '#test/support/rest.ts'
import { getServers } from '#test/support/servers.ts'
import { openSocket } from '#test/support/socket.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventuallyWithin } from '#test/support/timing.ts'
import { eventually } from '#test/support/wait.ts'

const trusted = { issuer: 'https://login.example.com', audience: 'orrery' }
const otherIssuer = 'https://sso.example.com'
/** An issuer that may sign tokens for another organization only. */
const foreignIssuer = 'https://foreign.example.com'
let api: ApiProcess
/** Another replica. */
let other: ApiProcess
let tenant: Tenant
let issuer: Awaited<ReturnType<typeof anIssuer>>
let pair: Pair
beforeAll(async () => {
  issuer = await anIssuer()
  pair = await aPair('first')
  issuer.shows(pair)
  const file = join(getServers().logDir, `people-issuers-${process.pid}.json`)
  const common = { ...trusted, jwksUrl: issuer.url, organizations: ['*'] }
  const foreign = { ...common, issuer: foreignIssuer, organizations: ['org-00000000000000000000000000'] }
  writeFileSync(file, JSON.stringify([common, { ...common, issuer: otherIssuer, groupsClaim: 'roles' }, foreign]))
  const settings = { ORRERY_JWT_ISSUERS_FILE: file, ORRERY_LIMIT_FAILED_CREDENTIALS_PER_MINUTE: '100000' }
  const databaseUrl = await aDatabase()
  api = await startApi({ databaseUrl, settings })
  other = await startApi({ databaseUrl, settings: { ...settings, ORRERY_PUBLIC_URL: api.url } })
  tenant = await aTenant(api.url)
})
afterAll(async () => {
  await Promise.all([api?.stop(), other?.stop()])
  await issuer?.close()
})

/** Signs a token of the external issuer for a user of the tenant. */
const externalToken = (more: JWTPayload = {}, of: Tenant = tenant): Promise<string> =>
  new SignJWT({
    iss: trusted.issuer,
    aud: trusted.audience,
    sub: 'ann',
    exp: Math.floor(Date.now() / 1000) + 300,
    organization_id: of.scope.organizationId,
    ...more,
  })
    .setProtectedHeader({ alg: 'RS256', kid: pair.kid })
    .sign(pair.privateKey)

/** Returns a client that uses a token of the external issuer. */
const asExternal = async (more: JWTPayload = {}, of: Tenant = tenant) =>
  createRest(api.url, of.scope, { token: await externalToken(more, of) })

type Named = { worldId: string }
const lobby = { name: 'Lobby', transient: false }
type AuditRecord = { actor: { kind: string; id: string }; action: string }

describe('a user', () => {
  test.each([
    ['of the built-in issuer', (permissions: string[]) => tenant.withToken('ann', permissions)],
    ['of an external issuer', (permissions: string[]) => asExternal({ permissions })],
  ])('%s works with the permissions of the token, and the audit names the user', async (_, as) => {
    const writer = await as([`${tenant.paths.project}/**:w`])
    const made = await writer.call<Named>('POST', '/api/worlds/', lobby)
    expect(made.status).toBe(200)
    const path = `/api/worlds/${made.body.worldId}/`
    expect((await writer.call('PATCH', path, { name: 'Hall' })).status).toBe(200)
    expect((await writer.call<object[]>('GET', '/api/worlds/')).body).not.toEqual([])
    expect((await writer.call('PATCH', '/api/organizations/current/', { name: 'Mine' })).status).toBe(404)
    expect((await writer.call('GET', '/api/audit/')).status).toBe(404)
    const reader = await as([`${tenant.paths.organization}/**:r`])
    expect((await reader.call('GET', path)).status).toBe(200)
    expect((await reader.call('DELETE', path)).status).toBe(403)
    const manager = await as([`${tenant.paths.organization}/**:*`])
    const audit = await manager.call<AuditRecord[]>('GET', `/api/audit/?resource=${made.body.worldId}`)
    expect(audit.body.map(({ action, actor }) => [action, actor])).toEqual([
      ['patchWorld', { kind: 'user', id: 'ann' }],
      ['createWorld', { kind: 'user', id: 'ann' }],
    ])
  })

  test('has no claims: neither large worlds nor server documents', async () => {
    const manager = await tenant.withToken('ann', [`${tenant.paths.organization}/**:*`])
    const large = { ...lobby, networking: { strategy: 'Default', scaling: { profile: 'Capacity1500' } } }
    expect(await manager.call('POST', '/api/worlds/', large)).toMatchObject({ status: 403 })
    const document = { data: { key: 'k', store: 'kvstoreServer', data: 1 } }
    expect((await manager.call('PUT', '/api/documents/kvStore/server-entry/', document)).status).toBe(403)
  })

  test('with a token that is revoked, or whose key loses permissions or ends, is limited at once', async () => {
    const { paths, rest, scope } = tenant
    const key = await aKey(rest, { permissions: [`${paths.organization}/**:*`] })
    const token = await aToken(createRest(api.url, scope, key.apiKey), 'ann', [`${paths.project}/**:w`])
    const user = createRest(api.url, scope, { token })
    const world = await user.call<Named>('POST', '/api/worlds/', lobby)
    const path = `/api/worlds/${world.body.worldId}/`
    expect((await key.patch({ permissions: [`${paths.organization}/**:r`] })).status).toBe(200)
    expect((await user.call('PATCH', path, { name: 'Hall' })).status).toBe(404)
    expect((await key.revoke()).status).toBe(204)
    expect((await user.call('GET', path)).status).toBe(401)
  })

  test('shares no Idempotency-Key with another user', async () => {
    const permissions = [`${tenant.paths.project}/**:w`]
    const stranger = await aTenant(api.url)
    const users = [
      await tenant.withToken('ann', permissions),
      await tenant.withToken('bob', permissions),
      // The same subject of another issuer, and of another organization, is another user.
      await asExternal({ permissions }),
      await stranger.withToken('ann', [`${stranger.paths.project}/**:w`]),
    ]
    const create = (user: (typeof users)[number]) =>
      user.call<Named>('POST', '/api/worlds/', lobby, { 'idempotency-key': 'the-same' })
    const made = []
    for (const user of users) made.push(await create(user))
    expect(made.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(new Set(made.map(({ body }) => body.worldId)).size).toBe(users.length)
    for (const [at, user] of users.entries()) {
      const again = await create(user)
      expect(again.headers.get('idempotency-replayed')).toBe('true')
      expect(again.body).toEqual(made[at]?.body)
    }
  })

  test('follows documents over a WebSocket with the same token', async () => {
    const permissions = [`${tenant.paths.project}/**:w`]
    const settings = { data: { id: 's', config: { on: 1 } } }
    for (const token of [await tenant.token('ann', permissions), await externalToken({ permissions })]) {
      const user = createRest(api.url, tenant.scope, { token })
      expect((await user.call('PUT', '/api/documents/liveConfig/settings/', settings)).status).toBe(200)
      const socket = await openSocket(api.url, { ...tenant.scope, token })
      socket.subscribe('liveConfig', 'settings')
      await socket.hears('the document', ({ data }) => data !== undefined)
    }
  })
})

describe('an external token', () => {
  test('without permissions is authenticated, and gets 404 for everything', async () => {
    const user = await asExternal()
    expect(await user.call('GET', '/api/organizations/')).toMatchObject({ status: 200, body: [] })
    expect((await user.call('GET', '/api/worlds/')).status).toBe(404)
    expect((await user.call('POST', '/api/worlds/', lobby)).status).toBe(404)
  })

  test('with permissions that are malformed or outside its organization gains nothing from them', async () => {
    const { project } = tenant.paths
    const stranger = await aTenant(api.url)
    const permissions = [
      ...['*', `${stranger.paths.organization}/**:*`, `${tenant.paths.organization}`, `${project}/**:x`],
      ...[`${tenant.paths.organization}/projects/\u0000/**:*`, `${tenant.paths.organization}/projects/\ud800/**:*`],
    ]
    const user = await asExternal({ permissions })
    for (const path of ['/api/worlds/', '/api/organizations/projects/', '/api/worlds/travel/locations/']) {
      expect([path, (await user.call('GET', path)).status]).toEqual([path, 404])
    }
    expect((await user.call('GET', '/api/organizations/')).body).toEqual([])
  })

  test.each([
    ['U+0000', 'ann\u0000'],
    ['a line break', 'ann\nbob'],
    ['a lone surrogate', 'ann\ud800'],
    ['more than 128 characters', 'a'.repeat(129)],
  ])('with a subject that has %s is refused', async (_, sub) => {
    const user = await asExternal({ sub, permissions: [`${tenant.paths.project}/**:w`] })
    expect((await user.call('POST', '/api/worlds/', lobby)).status).toBe(401)
  })
})

describe('the groups of an external token', () => {
  const groups = '/api/organizations/current/groups/'
  const isWithinASecond = async (what: string, sees: () => Promise<boolean>): Promise<void> => {
    // A busy machine needs some time for the requests themselves.
    await eventuallyWithin(3_000, what, sees)
  }
  let own: Tenant
  const mapping = (group: string, verb: string, issuerName = trusted.issuer) => ({
    issuer: issuerName,
    group,
    permissions: [`${own.paths.organization}/**:${verb}`],
  })
  const put = (...mappings: object[]) => own.rest.call('PUT', groups, { groups: mappings })
  beforeAll(async () => {
    own = await aTenant(api.url)
  })

  test('give their permissions in addition to those of the token, on every replica within a second', async () => {
    const token = await externalToken({ groups: ['players', 'operators'] }, own)
    const [here, there] = [api, other].map(({ url }) => createRest(url, own.scope, { token }))
    const create = () => here?.call<Named>('POST', '/api/worlds/', lobby)
    expect((await create())?.status).toBe(404)
    expect((await there?.call('GET', '/api/worlds/'))?.status).toBe(404)
    expect(await put(mapping('operators', 'w'), mapping('players', 'r'))).toMatchObject({ status: 200 })
    const made = await create()
    expect(made?.status).toBe(200)
    await isWithinASecond('the group on the other replica', async () => {
      return (await there?.call('GET', '/api/worlds/'))?.status === 200
    })
    await put(mapping('players', 'r'))
    expect((await create())?.status).toBe(403)
    await isWithinASecond('the lost group on the other replica', async () => {
      return (await there?.call('PATCH', `/api/worlds/${made?.body.worldId}/`, { name: 'Renamed' }))?.status === 403
    })
    await put()
    expect((await create())?.status).toBe(404)
    expect((await own.rest.call('GET', groups)).body).toEqual({ groups: [] })
  })

  test('count for the issuer of the mapping, and are read from the claim of its configuration', async () => {
    await put(mapping('operators', 'w'), mapping('admins', 'r', otherIssuer))
    const statusOf = async (claims: JWTPayload) =>
      (await (await asExternal(claims, own)).call('GET', '/api/worlds/')).status
    expect(await statusOf({ groups: ['operators'] })).toBe(200)
    expect(await statusOf({ groups: 'operators' })).toBe(200)
    expect(await statusOf({ groups: ['Operators'] })).toBe(404)
    expect(await statusOf({ roles: ['operators'] })).toBe(404)
    expect(await statusOf({ groups: ['admins'] })).toBe(404)
    expect(await statusOf({ iss: otherIssuer, groups: ['admins'] })).toBe(404)
    expect(await statusOf({ iss: otherIssuer, roles: ['operators'] })).toBe(404)
    expect(await statusOf({ iss: otherIssuer, roles: ['admins'] })).toBe(200)
    for (const claim of [null, 7, { operators: true }, [['operators']]])
      expect(await statusOf({ groups: claim })).toBe(404)
    const stranger = await aTenant(api.url)
    expect((await (await asExternal({ groups: ['operators'] }, stranger)).call('GET', '/api/worlds/')).status).toBe(404)
  })

  test('are mapped only for an issuer that may sign tokens for the organization', async () => {
    const known = await put(mapping('players', 'r'))
    expect(known.status).toBe(200)
    const { status, body } = await put(mapping('players', 'r'), mapping('players', 'w', 'https://unknown.example.com'))
    expect(status).toBe(400)
    const message = expect.stringMatching(/^must be an issuer whose tokens the platform accepts .* It accepts .*\.$/)
    expect(body).toMatchObject({ code: 'invalid_request', errors: [{ path: '/groups/1/issuer', message }] })
    expect((await put(mapping('players', 'r', foreignIssuer))).status).toBe(400)
    expect((await own.rest.call('GET', groups)).body).toEqual({ groups: [mapping('players', 'r')] })
  })

  test('end the subscriptions of an open connection with their permissions', async () => {
    await put(mapping('players', 'r'))
    const token = await externalToken({ groups: ['players'], permissions: [`${own.paths.organization}:r`] }, own)
    await own.rest.call('PUT', '/api/documents/liveConfig/settings/', { data: { id: 's', config: { on: 1 } } })
    const socket = await openSocket(other.url, { ...own.scope, token })
    socket.subscribe('liveConfig', 'settings')
    await socket.hears('the document', ({ data }) => data !== undefined)
    await put()
    await socket.hears('the end of the permission', ({ error }) => error !== undefined)
  })

  test('cannot be given more than the caller holds, or anything outside the organization', async () => {
    const everything = [`${own.paths.organization}/**:*`]
    const stranger = await aTenant(api.url)
    const manager = await own.withKey([`${own.paths.organization}:*`])
    const body = (permissions: string[]) => ({ groups: [{ issuer: trusted.issuer, group: 'g', permissions }] })
    expect((await manager.call('PUT', groups, body([`${own.paths.organization}:*`]))).status).toBe(200)
    expect((await manager.call('PUT', groups, body(everything))).status).toBe(403)
    for (const outside of ['*', `${stranger.paths.organization}/**:r`]) {
      expect((await own.rest.call('PUT', groups, body([outside]))).status).toBe(403)
    }
    const writer = await own.withKey([`${own.paths.organization}/**:w`])
    expect((await writer.call('GET', groups)).status).toBe(403)
    expect((await writer.call('PUT', groups, body([]))).status).toBe(403)
    const user = await own.withToken('ann', everything)
    expect((await user.call('GET', groups)).status).toBe(200)
    expect((await user.call('PUT', groups, body(everything))).status).toBe(403)
  })

  test('get no new permissions from a key that expires or has allowed networks, since theirs would be unrestricted', async () => {
    const everything = [`${own.paths.organization}/**:*`]
    await put(mapping('players', 'r'), mapping('operators', 'w'))
    for (const restriction of [
      { expiresAt: new Date(Date.now() + 600_000).toISOString() },
      { allowedNetworks: ['127.0.0.0/8', '::1/128'] },
    ]) {
      const made = await own.rest.call<{ apiKey: string }>('POST', '/api/organizations/apiKeys/', {
        displayName: 'Restricted',
        permissions: everything,
        ...restriction,
      })
      const restricted = createRest(api.url, own.scope, made.body.apiKey)
      const putRestricted = async (...mappings: object[]) =>
        (await restricted.call('PUT', groups, { groups: mappings })).status
      for (const added of [mapping('admins', 'r'), mapping('players', 'w'), mapping('players', 'r', otherIssuer)]) {
        expect(await putRestricted(mapping('players', 'r'), added)).toBe(403)
      }
      expect(await putRestricted(mapping('operators', 'w'), mapping('players', 'r'))).toBe(200)
    }
    expect((await own.rest.call('GET', groups)).body).toEqual({
      groups: [mapping('operators', 'w'), mapping('players', 'r')],
    })
  })

  test('have limits', async () => {
    const many = (count: number) => Array.from({ length: count }, (_, at) => mapping(`group-${at}`, 'r'))
    expect((await put(...many(64))).status).toBe(200)
    expect((await put(...many(65))).status).toBe(400)
    for (const change of [{ group: '' }, { group: 'g'.repeat(257) }, { issuer: '' }, { permissions: ['all'] }]) {
      expect((await put({ ...mapping('g', 'r'), ...change })).status).toBe(400)
    }
  })
})

test('every replica refuses tokens of all issuers within a second after their organization was deleted', async () => {
  const own = await aTenant(api.url)
  const permissions = [`${own.paths.organization}/**:*`]
  const tokens = [await own.token('ann', permissions), await externalToken({ permissions }, own)]
  const clients = [api, other].flatMap(({ url }) => tokens.map((token) => createRest(url, {}, { token })))
  const statuses = () =>
    Promise.all(clients.map(async (each) => (await each.call('GET', '/api/worlds/public/')).status))
  expect(await statuses()).toEqual([200, 200, 200, 200])
  expect((await own.rest.call('DELETE', `/api/organizations/${own.scope.organizationId}/`)).status).toBe(204)
  await eventually('401 everywhere', async () => (await statuses()).every((status) => status === 401))
})
