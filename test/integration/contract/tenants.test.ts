import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDatabase } from '#api/platform/database/client.ts'
import { dumpRows } from '#test/support/dump.ts'
import { aKey } from '#test/support/keys.ts'
import { type ApiProcess, aDatabase, logLines, rootApiKey, startApi, startOperator } from '#test/support/processes.ts'
import { createRest, send } from '#test/support/rest.ts'
import { aTenant } from '#test/support/tenant.ts'
import { eventuallyWithin } from '#test/support/timing.ts'
import { eventually } from '#test/support/wait.ts'

let apis: ApiProcess[]
let url: string
let databaseUrl: string
beforeAll(async () => {
  databaseUrl = await aDatabase()
  const settings = { ORRERY_SUPPORTED_PROVIDERS: 'providerB', ORRERY_KEEP_DELETED_HOURS: '0' }
  apis = [await startApi({ databaseUrl, settings }), await startApi({ databaseUrl, settings })]
  url = apis[0]?.url ?? ''
})
afterAll(async () => {
  await Promise.all(apis?.map((api) => api.stop()) ?? [])
})

type Problem = { code: string; errors?: { path: string }[] }
const organizations = '/api/organizations/'
const full = {
  name: 'Acme',
  featuredEventId: 'event-1',
  websiteInfo: { title: 'Acme', headTags: ['<meta>'] },
  features: {
    loginPanelDisclaimer: 'd',
    profilePictureUpload: true,
    hasProfilePage: true,
    hasCollectionsPage: false,
    hasNavigationMenu: true,
    allowPublicReadableChat: true,
    loginOptions: { hasEmail: true, hasWalletA: true, hasWalletB: true, hasWalletC: true, hasIdentityProvider: true },
    allowUserTokenManagement: true,
    pubsub: { publishKey: 'p', subscribeKey: 's', defaultChannels: [{ read: true, write: false, type: 'party' }] },
    usernameCustomization: { unique: true, pattern: '^[a-z]+$' },
    iosNativeClientSupport: true,
    useSignedContentDownloads: true,
    customerConnectUrl: 'https://example.com',
  },
  legalPolicies: { termsOfService: ['t'], privacyPolicy: [], chatRules: [], partnerPrivacyPolicy: [], eula: ['e'] },
  hasEventEnabled: true,
}

describe('an organization', () => {
  test('accepts and returns every field, and only the public ones without a key', async () => {
    const made = await createRest(url).call<{ organizationId: string }>('POST', organizations, full)
    const { organizationId } = made.body
    expect(made.body).toEqual({ organizationId, features: full.features })
    const headers = { 'x-svc-organization-id': organizationId }
    const supportedProviders = { providerA: false, providerB: true, providerC: false, providerD: false }
    for (const form of ['current', organizationId]) {
      const read = await send(url, { method: 'GET', path: `${organizations}${form}/`, headers })
      expect(JSON.parse(read.text)).toEqual({ organizationId, tenantId: organizationId, ...full, supportedProviders })
    }
    const listed = await createRest(url).call<{ documentId: string }[]>('GET', organizations)
    expect(listed.body.find(({ documentId }) => documentId === organizationId)).toEqual({
      documentId: organizationId,
      tenantId: organizationId,
      ...full,
      createdAt: expect.any(String),
      permissionVerb: '*',
      isSlot: false,
    })
  })

  test('is changed in the given fields, with features replaced whole, on both paths', async () => {
    const { rest, scope } = await aTenant(url)
    const read = async () => (await rest.call<Record<string, unknown>>('GET', `${organizations}current/`)).body
    const patch = (body: object, form = 'current') => rest.call('PATCH', `${organizations}${form}/`, body)
    expect(await patch({ features: { hasProfilePage: true }, featuredEventId: 'e' })).toMatchObject({
      status: 204,
      body: undefined,
    })
    expect((await patch({ features: { hasNavigationMenu: true } }, scope.organizationId)).status).toBe(204)
    expect(await read()).toMatchObject({ name: 'Acme', featuredEventId: 'e', features: { hasNavigationMenu: true } })
    expect((await read()).features).not.toHaveProperty('hasProfilePage')
    const other = await aTenant(url)
    expect((await patch({ tenantId: 'acme-one' })).status).toBe(204)
    // The label is free: several organizations may have the same.
    expect((await other.rest.call('PATCH', `${organizations}current/`, { tenantId: 'acme-one' })).status).toBe(204)
  })

  test.each([
    [{ hasEventEnabled: true }, '/hasEventEnabled'],
    [{ name: '' }, '/name'],
    [{ name: null }, '/name'],
    [{ tenantId: '' }, '/tenantId'],
    [{ features: { hasProfilePage: 'yes' } }, '/features/hasProfilePage'],
    [{ features: { usernameCustomization: { pattern: '(a+)+\\1' } } }, '/features/usernameCustomization/pattern'],
    [{ features: { usernameCustomization: { pattern: '(?=a)' } } }, '/features/usernameCustomization/pattern'],
    [{ features: { usernameCustomization: { pattern: '[' } } }, '/features/usernameCustomization/pattern'],
    [{ features: { colour: 1 } }, '/features/colour'],
  ])('is not changed to %j', async (body, fault) => {
    const { rest } = await aTenant(url)
    const answer = await rest.call<Problem>('PATCH', `${organizations}current/`, body)
    expect([answer.status, answer.body.errors?.[0]?.path]).toEqual([400, fault])
  })

  test('is created only with the claim, which grants full access to it', async () => {
    const own = await aTenant(url)
    const key = await own.key([], { claims: { createOrganization: true } })
    const rest = createRest(url, {}, key)
    expect((await rest.call('GET', organizations)).body).toEqual([])
    const { body } = await rest.call<{ organizationId: string }>('POST', organizations, { name: 'Child' })
    const child = createRest(url, { organizationId: body.organizationId }, key)
    expect((await child.call('POST', `${organizations}projects/`, { name: 'P' })).status).toBe(200)
    expect((await child.call('POST', `${organizations}apiKeys/`, { displayName: 'K' })).status).toBe(200)
    const listed = await rest.call<{ documentId: string; permissionVerb: string }[]>('GET', organizations)
    expect(listed.body).toMatchObject([{ documentId: body.organizationId, permissionVerb: '*' }])
  })

  test('has limits that only the platform key can set', async () => {
    const { rest, scope, withKey, paths } = await aTenant(url)
    const path = `${organizations}${scope.organizationId}/limits/`
    const owner = await withKey([`${paths.organization}/**:*`])
    expect((await owner.call('PATCH', path, { maxWorlds: 1 })).status).toBe(403)
    const set = await rest.call('PATCH', path, { maxWorlds: 1 })
    expect(set.body).toMatchObject({ maxWorlds: 1, maxWorldCapacity: 10_000, maxRunningCapacity: 20_000 })
  })
})

describe('an API key', () => {
  type Key = { documentId: string; keyString: string; permissions: string[]; displayName: string }
  const keys = `${organizations}apiKeys/`
  const list = async (rest: ReturnType<typeof createRest>) => (await rest.call<Key[]>('GET', keys)).body

  test('is returned in full to key managers, masked to others, and is in no row or log', async () => {
    const own = await aTenant(url)
    const apiKey = await own.key([`${own.paths.organization}:r`], { claims: { mine: true, not: false } })
    const [shown] = await list(own.rest)
    expect(shown).toEqual({
      documentId: expect.stringMatching(/^key-/),
      displayName: 'Test',
      isActive: true,
      isManagedByProvisioner: false,
      keyString: apiKey,
      organizationId: own.scope.organizationId,
      claims: { mine: true, not: false },
      permissions: [`${own.paths.organization}:r`],
    })
    const reader = createRest(url, own.scope, apiKey)
    expect((await list(reader))[0]?.keyString).toBe('ork_************')
    expect(JSON.stringify(await dumpRows(databaseUrl))).not.toContain(apiKey)
    for (const { logFile } of apis) expect(JSON.stringify(logLines(logFile))).not.toContain(apiKey)
  })

  test('never grants more than its creator holds, in create and PATCH', async () => {
    const own = await aTenant(url)
    const { organization, project } = own.paths
    const manager = await own.withKey([`${organization}:*`, `${project}/**:w`])
    const make = (body: object) => manager.call<Problem>('POST', keys, { displayName: 'K', ...body })
    for (const permission of ['*', `${organization}/**:r`, `${project}/**:*`, `${project}:*`]) {
      expect([permission, (await make({ permissions: [permission] })).status]).toEqual([permission, 403])
    }
    for (const permission of [`${organization}:*`, `${project}/**:w`, `${project}:r`]) {
      expect([permission, (await make({ permissions: [permission] })).status]).toEqual([permission, 200])
    }
    for (const claim of ['createOrganization', 'largeWorlds']) {
      expect([claim, (await make({ claims: { [claim]: true } })).status]).toEqual([claim, 403])
      expect((await make({ claims: { [claim]: false } })).status).toBe(200)
    }
    for (const claim of ['worldServer', 'bot', 'other'])
      expect((await make({ claims: { [claim]: true } })).status).toBe(200)
    const id = (await list(own.rest))[0]?.documentId
    const patch = (body: object) => manager.call('PATCH', `${keys}${id}/`, body)
    expect((await patch({ permissions: ['*'] })).status).toBe(403)
    expect((await patch({ claims: { largeWorlds: true } })).status).toBe(403)
    expect((await patch({ displayName: 'Renamed' })).status).toBe(200)
  })

  test('that is stronger than its reader is masked even for key managers', async () => {
    const own = await aTenant(url)
    const strong = await own.key([`${own.paths.organization}/**:*`])
    const manager = await own.withKey([`${own.paths.organization}:*`])
    const shown = await list(manager)
    expect(JSON.stringify(shown)).not.toContain(strong)
    const { documentId } =
      shown.find(({ permissions }) => permissions.join() === `${own.paths.organization}/**:*`) ?? {}
    // A key without its strong permissions would no longer be masked.
    expect((await manager.call('PATCH', `${keys}${documentId}/`, { permissions: [] })).status).toBe(403)
    expect((await manager.call('PATCH', `${keys}${documentId}/`, { isActive: false })).status).toBe(200)
  })

  test('that is stronger than the caller can be deactivated and deleted only', async () => {
    const own = await aTenant(url)
    const { organization, project } = own.paths
    const manager = await own.withKey([`${organization}:*`, `${project}/**:w`])
    const stronger: [string[], Record<string, boolean>][] = [
      [[`${organization}/**:*`], {}],
      [[`${project}/**:*`], {}],
      [[`${project}:r`], { largeWorlds: true }],
      [[], { createOrganization: true }],
    ]
    for (const [permissions, claims] of stronger) {
      const { apiKey, patch } = await aKey(own.rest, { permissions, claims })
      const { documentId } = (await list(own.rest)).find(({ keyString }) => keyString === apiKey) ?? {}
      const patchAs = (body: object) => manager.call<Key>('PATCH', `${keys}${documentId}/`, body)
      expect(await patchAs({ isActive: false })).toMatchObject({ status: 200, body: { keyString: 'ork_************' } })
      for (const body of [
        { isActive: true },
        { displayName: 'Mine' },
        { isActive: false, displayName: 'Mine' },
        { permissions: [] },
        { claims: {} },
      ]) {
        expect([permissions, claims, body, (await patchAs(body)).status]).toEqual([permissions, claims, body, 403])
      }
      expect((await patch({ isActive: true })).status).toBe(200)
      expect((await manager.call('DELETE', `${keys}${documentId}/`)).status).toBe(204)
    }
    const equal = await aKey(manager, {
      permissions: [`${project}/**:w`],
      claims: { worldServer: true, largeWorlds: false },
    })
    expect((await equal.patch({ isActive: false })).status).toBe(200)
    expect(await equal.patch({ isActive: true })).toMatchObject({ status: 200, body: { keyString: equal.apiKey } })
  })

  test('is changed in the given fields and returned', async () => {
    const own = await aTenant(url)
    const apiKey = await own.key([`${own.paths.organization}:r`], { claims: { a: true } })
    const before = (await list(own.rest))[0]
    const changed = await own.rest.call('PATCH', `${keys}${before?.documentId}/`, { claims: { b: true } })
    expect(changed.body).toEqual({ ...before, claims: { b: true }, keyString: apiKey })
  })

  test('managed by the provisioner is neither changed nor deleted', async () => {
    const own = await aTenant(url)
    await own.key([])
    const id = (await list(own.rest))[0]?.documentId
    const { db, close } = openDatabase({ url: databaseUrl, poolSize: 1 })
    await db.execute(`update api_keys set is_managed_by_provisioner = true where id = '${id}'`)
    await close()
    expect((await own.rest.call('PATCH', `${keys}${id}/`, { displayName: 'X' })).status).toBe(403)
    expect((await own.rest.call('DELETE', `${keys}${id}/`)).status).toBe(403)
    expect(await list(own.rest)).toMatchObject([{ isManagedByProvisioner: true, displayName: 'Test' }])
  })

  test.each(['deleted', 'set inactive'])('that is %s fails within a second on every replica', async (how) => {
    const own = await aTenant(url)
    const apiKey = await own.key([`${own.paths.organization}/**:r`])
    const id = (await list(own.rest))[0]?.documentId
    const ask = () =>
      Promise.all(
        apis.map(async (api) => (await createRest(api.url, own.scope, apiKey).call('GET', '/api/worlds/')).status),
      )
    expect(await ask()).toEqual([200, 200])
    const done =
      how === 'deleted'
        ? await own.rest.call('DELETE', `${keys}${id}/`)
        : await own.rest.call('PATCH', `${keys}${id}/`, { isActive: false })
    expect(done.status).toBe(how === 'deleted' ? 204 : 200)
    await eventuallyWithin(1_000, '401 everywhere', async () => (await ask()).every((status) => status === 401))
  })

  test('of a bot reads its world and nothing else', async () => {
    const own = await aTenant(url)
    const id = await own.world()
    const bot = await own.withKey([`${own.paths.project}/worlds/${id}:*`, `${own.paths.organization}/**:*`], {
      claims: { bot: true, createOrganization: true },
    })
    expect((await bot.call('POST', organizations, { name: 'Bots' })).status).toBe(403)
    expect((await bot.call('GET', `/api/worlds/${id}/`)).status).toBe(200)
    expect((await bot.call('PATCH', `/api/worlds/${id}/`, { name: 'Mine' })).status).toBe(403)
    expect((await bot.call('GET', keys)).status).toBe(404)
    expect((await bot.call('GET', `${organizations}projects/current/`)).status).toBe(404)
  })

  test.each([
    [{ permissions: ['everything'] }, '/permissions/0'],
    [{ permissions: ['organizations/:r'] }, '/permissions/0'],
    [{ permissions: ['organizations/**:r'] }, '/permissions/0'],
    [{ claims: { a: 1 } }, '/claims/a'],
    [{ isManagedByProvisioner: true }, '/isManagedByProvisioner'],
    [{ displayName: '' }, '/displayName'],
  ])('is not created with %j', async (body, fault) => {
    const { rest } = await aTenant(url)
    const answer = await rest.call<Problem>('POST', keys, { displayName: 'K', ...body })
    expect([answer.status, answer.body.errors?.[0]?.path]).toEqual([400, fault])
  })
})

describe('a project', () => {
  const current = `${organizations}projects/current/`

  test('is read and renamed; a documentId in the body must be its own', async () => {
    const { rest, scope } = await aTenant(url)
    const { projectId } = scope
    expect((await rest.call('GET', current)).body).toEqual({
      documentId: projectId,
      projectId,
      name: 'Main',
      permissionVerb: '*',
    })
    const renamed = await rest.call('PATCH', current, { documentId: projectId, name: 'Hall' })
    expect(renamed.body).toEqual({ documentId: projectId, name: 'Hall' })
    const other = await rest.call<Problem>('PATCH', current, { documentId: `prj-${'0'.repeat(26)}`, name: 'X' })
    expect([other.status, other.body.errors?.[0]?.path]).toEqual([400, '/documentId'])
    expect((await rest.call('PATCH', current, {})).body).toEqual({ documentId: projectId, name: 'Hall' })
  })

  test('is listed for keys that can reach it, with their verb', async () => {
    const own = await aTenant(url)
    await own.rest.call('POST', `${organizations}projects/`, { name: 'Other' })
    const rest = await own.withKey([`${own.paths.project}:w`])
    expect((await rest.call('GET', `${organizations}projects/`)).body).toMatchObject([
      { documentId: own.scope.projectId, permissionVerb: 'w' },
    ])
  })

  test('is deleted only with w on it and everything below, with its rows and resources', async () => {
    const operator = await startOperator()
    const own = await aTenant(url)
    const { rest, scope } = own
    const id = await own.world()
    await rest.call('POST', `/api/worlds/${id}/bots/`, { count: 1 })
    const weak = await own.withKey([`${own.paths.project}:w`])
    expect((await weak.call('DELETE', current)).status).toBe(403)
    expect(await rest.call('DELETE', current)).toMatchObject({ status: 200, body: undefined })
    for (const path of [current, '/api/worlds/', `/api/worlds/${id}/`, `/api/worlds/${id}/bots/`]) {
      expect([path, (await rest.call('GET', path)).status]).toEqual([path, 404])
    }
    const organization = createRest(url, { organizationId: scope.organizationId })
    for (const path of [`${organizations}projects/`, '/api/worlds/']) {
      expect((await organization.call('GET', path)).body).toEqual([])
    }
    expect((await rest.call('POST', '/api/worlds/', { name: 'Late', transient: false })).status).toBe(404)
    expect((await rest.call('DELETE', current)).status).toBe(404)
    await eventually('no row is left', async () => {
      const { rows } = await dumpRows(databaseUrl)
      const left = ['projects', 'worlds', 'launch_contexts', 'bot_deployments'].flatMap((table) => rows[table] ?? [])
      return !left.some((row) => row.includes(scope.projectId))
    })
    await operator.stop()
  })
})

test('writes the platform key to no row and no log', async () => {
  expect(JSON.stringify(await dumpRows(databaseUrl))).not.toContain(rootApiKey)
  for (const { logFile } of apis) expect(JSON.stringify(logLines(logFile))).not.toContain(rootApiKey)
})
