import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readApiConfig } from '#api/config.ts'
import { type ApiProcess, aDatabase, apiSecrets, rootApiKey, startApi } from '#test/support/processes.ts'
import { createRest, send } from '#test/support/rest.ts'
import { getServers } from '#test/support/servers.ts'
import { openSocket } from '#test/support/socket.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventuallyWithin, expectWithin } from '#test/support/timing.ts'
import { eventually } from '#test/support/wait.ts'

const previousRootApiKey = 'ork_previous-platform-key-0123456789'
let apis: ApiProcess[]
let urls: string[]
let url: string
/** The public URL of all replicas, which makes them one issuer. */
const issuer = 'http://127.0.0.1:9'
let databaseUrl: string
beforeAll(async () => {
  databaseUrl = await aDatabase()

  const settings = {
    ORRERY_PUBLIC_URL: issuer,
    ORRERY_LIMIT_ORGANIZATIONS_PER_KEY: '2',
    ORRERY_ROOT_API_KEY_PREVIOUS: previousRootApiKey,
  }
  apis = [await startApi({ databaseUrl, settings }), await startApi({ databaseUrl, settings })]
  urls = apis.map((api) => api.url)
  url = urls[0] ?? ''
})
afterAll(async () => {
  await Promise.all(apis?.map((api) => api.stop()) ?? [])
})

type Key = {
  documentId: string
  keyString: string
  expiresAt?: string
  lastUsedAt?: string
  allowedNetworks?: string[]
}
const keys = '/api/organizations/apiKeys/'
const inSeconds = (seconds: number): string => new Date(Date.now() + seconds * 1_000).toISOString()

/** Creates a key of a tenant with more fields than permissions. Returns its string and its path. */
const aKeyOf = async (tenant: Tenant, permissions: string[], more: object = {}) => {
  const made = await tenant.rest.call<{ apiKey: string }>('POST', keys, { displayName: 'Test', permissions, ...more })
  expect([made.status, made.body]).toEqual([200, { apiKey: expect.any(String) }])
  const { apiKey } = made.body
  const listed = await tenant.rest.call<Key[]>('GET', keys)
  const path = `${keys}${listed.body.find(({ keyString }) => keyString === apiKey)?.documentId}/`
  const shown = async () => (await tenant.rest.call<Key>('PATCH', path, {})).body
  return { apiKey, path, shown, rest: createRest(url, tenant.scope, apiKey) }
}
const statusesOfKey = ({ scope }: Tenant, apiKey: string): Promise<number[]> =>
  Promise.all(urls.map(async (each) => (await createRest(each, scope, apiKey).call('GET', keys)).status))
const statusesOfToken = ({ scope }: Tenant, token: string, userId = 'ann'): Promise<number[]> =>
  Promise.all(
    urls.map(async (each) => {
      const answer = await send(each, {
        method: 'GET',
        path: `/api/worlds/wld-${'0'.repeat(26)}/users/${userId}/access/`,
        headers: {
          authorization: `Bearer ${token}`,
          'x-svc-organization-id': scope.organizationId,
          'x-svc-project-id': scope.projectId,
        },
      })
      return answer.status
    }),
  )
const within = (what: string, look: () => Promise<boolean>) => eventuallyWithin(1_000, what, look)

describe('a token of the built-in issuer', () => {
  /** Creates a key and a token that it issued. */
  const aMinter = async (more: object = {}) => {
    const tenant = await aTenant(url)
    const everything = [`${tenant.paths.organization}/**:*`]
    const key = await aKeyOf(tenant, everything, more)
    const mint = async (userId = 'ann') =>
      (
        await key.rest.call<{ accessToken: string; tokenId: string; expiresAt: string }>(
          'POST',
          `/api/users/${userId}/tokens/`,
          {
            permissions: everything,
          },
        )
      ).body
    const made = await mint()
    expect(await statusesOfToken(tenant, made.accessToken)).toEqual([200, 200])
    return { tenant, key, mint, ...made }
  }

  test('ends with its key when that expires by time, also on an open socket', async () => {
    const { tenant, key, mint, accessToken } = await aMinter({ expiresAt: inSeconds(60) })
    const socket = await openSocket(urls[1] ?? '', { ...tenant.scope, token: accessToken })
    const expiresAt = inSeconds(3)
    expect((await tenant.rest.call('PATCH', key.path, { expiresAt })).status).toBe(200)
    await within('the earlier end', async () => Date.parse((await mint()).expiresAt) <= Date.parse(expiresAt))
    expect((await socket.closes()).code).toBe(4401)
    expectWithin(Date.now() - Date.parse(expiresAt), 1_000)
    await within('401 everywhere', async () =>
      (await statusesOfToken(tenant, accessToken)).every((status) => status === 401),
    )
  })

  test('names itself and the key that minted it', async () => {
    const { accessToken, tokenId, key } = await aMinter()
    expect(tokenId).toMatch(/^tok-/)
    expect(decodeJwt(accessToken)).toMatchObject({ jti: tokenId, key_id: key.path.split('/').at(-2) })
  })

  test.each(['deleted', 'deactivated', 'expired'])(
    'ends within a second when its key is %s, on every replica and open socket',
    async (how) => {
      const { tenant, key, accessToken } = await aMinter()
      const sockets = await Promise.all(urls.map((each) => openSocket(each, { ...tenant.scope, token: accessToken })))
      if (how === 'deleted') await tenant.rest.call('DELETE', key.path)
      else
        await tenant.rest.call('PATCH', key.path, how === 'expired' ? { expiresAt: inSeconds(0) } : { isActive: false })
      const atMs = performance.now()
      for (const socket of sockets) expect((await socket.closes()).code).toBe(4401)
      expectWithin(performance.now() - atMs, 1_000)
      await within('401 everywhere', async () =>
        (await statusesOfToken(tenant, accessToken)).every((status) => status === 401),
      )
    },
  )

  test('that is revoked ends within a second everywhere, and no other token ends', async () => {
    const { tenant, key, mint, accessToken, tokenId } = await aMinter()
    const other = await mint()
    const stranger = await aTenant(url)
    const sockets = await Promise.all(urls.map((each) => openSocket(each, { ...tenant.scope, token: accessToken })))
    const bystander = await openSocket(url, { ...tenant.scope, token: other.accessToken })
    const path = `/api/users/ann/tokens/${tokenId}/`
    // Neither another organization nor another user's path reaches the token.
    expect((await stranger.rest.call('DELETE', path)).status).toBe(204)
    expect((await key.rest.call('DELETE', path.replace('ann', 'bob'))).status).toBe(204)
    expect(await statusesOfToken(tenant, accessToken)).toEqual([200, 200])
    expect((await key.rest.call('DELETE', path)).status).toBe(204)
    expect((await key.rest.call('DELETE', path)).status).toBe(204)
    for (const socket of sockets) expect((await socket.closes()).code).toBe(4401)
    await within('401 everywhere', async () =>
      (await statusesOfToken(tenant, accessToken)).every((status) => status === 401),
    )
    expect(await statusesOfToken(tenant, other.accessToken)).toEqual([200, 200])
    expect(bystander.isOpen()).toBe(true)
  })

  test('permits no more than its key holds now', async () => {
    const { tenant, key, accessToken } = await aMinter()
    expect(await statusesOfToken(tenant, accessToken, 'bob')).toEqual([200, 200])
    await tenant.rest.call('PATCH', key.path, { permissions: [`${tenant.paths.organization}:r`] })
    await within('403 for another user', async () =>
      (await statusesOfToken(tenant, accessToken, 'bob')).every((status) => status === 403),
    )
    expect(await statusesOfToken(tenant, accessToken)).toEqual([200, 200])
  })

  test('that the platform key minted is valid while that key is configured', async () => {
    const tenant = await aTenant(url)
    const token = await tenant.token('ann')
    expect(await statusesOfToken(tenant, token)).toEqual([200, 200])
    const statusWith = async (settings: Record<string, string>): Promise<number> => {
      const after = await startApi({ databaseUrl, settings })
      const path = `/api/worlds/wld-${'0'.repeat(26)}/users/ann/access/`
      const { organizationId, projectId } = tenant.scope
      const scope = { 'x-svc-organization-id': organizationId, 'x-svc-project-id': projectId }
      const headers = { authorization: `Bearer ${token}`, ...scope }
      const { status } = await fetch(`${after.url}${path}`, { headers })
      await after.stop()
      return status
    }
    const next = { ORRERY_PUBLIC_URL: issuer, ORRERY_ROOT_API_KEY: 'ork_next-platform-key-0123456789' }
    expect(await statusWith({ ...next, ORRERY_ROOT_API_KEY_PREVIOUS: rootApiKey })).toBe(200)
    expect(await statusWith(next)).toBe(401)
  })
})

describe('an API key', () => {
  test('with an expiry ends then, on every replica and open socket', async () => {
    const tenant = await aTenant(url)
    const permissions = [`${tenant.paths.organization}/**:r`]
    const key = await aKeyOf(tenant, permissions, { expiresAt: inSeconds(60) })
    expect(await statusesOfKey(tenant, key.apiKey)).toEqual([200, 200])
    const socket = await openSocket(urls[1] ?? '', { ...tenant.scope, apiKey: key.apiKey })
    const expiresAt = inSeconds(2)
    expect(await tenant.rest.call('PATCH', key.path, { expiresAt })).toMatchObject({ status: 200, body: { expiresAt } })
    expect(await statusesOfKey(tenant, key.apiKey)).toEqual([200, 200])
    expect((await socket.closes()).code).toBe(4401)
    expectWithin(Date.now() - Date.parse(expiresAt), 1_000)
    await within('401 everywhere', async () =>
      (await statusesOfKey(tenant, key.apiKey)).every((status) => status === 401),
    )
    expect((await tenant.rest.call('PATCH', key.path, { expiresAt: null })).status).toBe(200)
    expect(await key.shown()).not.toHaveProperty('expiresAt')
    await within('200 again', async () => (await statusesOfKey(tenant, key.apiKey)).every((status) => status === 200))
  })

  test.each(['0000-01-01T00:00:00Z', '0049-01-01T00:00:00Z', '1970-01-01T00:00:00+14:00', '9999-12-31T23:59:59-14:00'])(
    'cannot expire at %s, which is not in the years 1970 to 9999 in UTC',
    async (expiresAt) => {
      const tenant = await aTenant(url)
      const key = await aKeyOf(tenant, [`${tenant.paths.organization}:r`])
      const refused = { status: 400, body: { errors: [{ path: '/expiresAt' }] } }
      expect(await tenant.rest.call('POST', keys, { displayName: 'Old', expiresAt })).toMatchObject(refused)
      expect(await tenant.rest.call('PATCH', key.path, { expiresAt })).toMatchObject(refused)
    },
  )

  test.each(['1970-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z'])(
    'may expire at %s, and is shown with it',
    async (expiresAt) => {
      const tenant = await aTenant(url)
      const key = await aKeyOf(tenant, [`${tenant.paths.organization}:r`], { expiresAt })
      expect(await key.shown()).toMatchObject({ expiresAt })
    },
  )

  test('shows when it was last used', async () => {
    const tenant = await aTenant(url)
    const key = await aKeyOf(tenant, [`${tenant.paths.organization}:r`])
    expect(await key.shown()).not.toHaveProperty('lastUsedAt')
    const beforeMs = Date.now()
    await key.rest.call('GET', keys)
    await eventually('lastUsedAt', async () => (await key.shown()).lastUsedAt !== undefined)
    const { lastUsedAt = '' } = await key.shown()
    expect(Date.parse(lastUsedAt)).toBeGreaterThanOrEqual(beforeMs)
    expect(Date.parse(lastUsedAt)).toBeLessThanOrEqual(Date.now())
  })

  test('with allowed networks is refused from elsewhere like an unknown key', async () => {
    const tenant = await aTenant(url)
    const permissions = [`${tenant.paths.organization}/**:r`]
    const inside = await aKeyOf(tenant, permissions, { allowedNetworks: ['127.0.0.0/8', '::1/128'] })
    const outside = await aKeyOf(tenant, permissions, { allowedNetworks: ['192.0.2.0/24'] })
    expect(await statusesOfKey(tenant, inside.apiKey)).toEqual([200, 200])
    const refused = await outside.rest.call<{ detail: string }>('GET', keys)
    const unknown = await createRest(url, tenant.scope, 'unknown').call<{ detail: string }>('GET', keys)
    expect([refused.status, refused.body.detail]).toEqual([401, unknown.body.detail])
    const socket = await openSocket(urls[1] ?? '', { ...tenant.scope, apiKey: inside.apiKey })
    await tenant.rest.call('PATCH', inside.path, { allowedNetworks: ['192.0.2.0/24'] })
    expect((await socket.closes()).code).toBe(4401)
    expect((await tenant.rest.call('PATCH', inside.path, { allowedNetworks: ['10.0.0.0/99'] })).status).toBe(400)
  })

  test('that expires or has allowed networks makes, changes and reads no key that is valid for longer or elsewhere', async () => {
    const tenant = await aTenant(url)
    const everything = [`${tenant.paths.organization}/**:*`]
    const bounds = { expiresAt: inSeconds(600), allowedNetworks: ['127.0.0.0/8', '::1/128'] }
    const bound = await aKeyOf(tenant, everything, bounds)
    const free = await aKeyOf(tenant, everything)
    const make = async (more: object): Promise<number> =>
      (await bound.rest.call('POST', keys, { displayName: 'Child', permissions: everything, ...more })).status
    const change = async (path: string, changes: object): Promise<number> =>
      (await bound.rest.call('PATCH', path, changes)).status
    expect(await make({})).toBe(403)
    expect(await make({ ...bounds, expiresAt: inSeconds(1_200) })).toBe(403)
    expect(await make({ ...bounds, allowedNetworks: ['127.0.0.0/7'] })).toBe(403)
    expect(await make({ ...bounds, allowedNetworks: ['0.0.0.0/0'] })).toBe(403)
    expect(await make({ expiresAt: inSeconds(60), allowedNetworks: ['127.0.0.0/16'] })).toBe(200)
    expect(await change(bound.path, { expiresAt: null })).toBe(403)
    expect(await change(bound.path, { allowedNetworks: null })).toBe(403)
    expect(await change(bound.path, { allowedNetworks: ['127.0.0.0/16'] })).toBe(200)
    expect(await change(free.path, { displayName: 'Taken' })).toBe(403)
    expect((await bound.rest.call('POST', `${free.path}rotate/`, { overlapSeconds: 0 })).status).toBe(403)
    const listed = await bound.rest.call<Key[]>('GET', keys)
    expect(listed.body.map(({ keyString }) => keyString)).not.toContain(free.apiKey)
    expect(await change(free.path, { isActive: false })).toBe(200)
  })

  test('is rotated in one call; the old string ends with the overlap', async () => {
    const tenant = await aTenant(url)
    const key = await aKeyOf(tenant, [`${tenant.paths.organization}/**:*`])
    const socket = await openSocket(urls[1] ?? '', { ...tenant.scope, apiKey: key.apiKey })
    const rotate = (overlapSeconds: number) =>
      key.rest.call<{ apiKey: string; previousValidUntil: string }>('POST', `${key.path}rotate/`, { overlapSeconds })
    const rotated = await rotate(2)
    expect(rotated.status).toBe(200)
    const next = rotated.body.apiKey
    expect(await statusesOfKey(tenant, next)).toEqual([200, 200])
    expect(await statusesOfKey(tenant, key.apiKey)).toEqual([200, 200])
    expect((await key.shown()).keyString).toBe(next)
    expect((await socket.closes()).code).toBe(4401)
    await within('401 everywhere', async () =>
      (await statusesOfKey(tenant, key.apiKey)).every((status) => status === 401),
    )
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(rotated.body.previousValidUntil))
    expect(await statusesOfKey(tenant, next)).toEqual([200, 200])
  })

  test('shows with the others until when the replaced string stays valid, and keeps all strings masked if asked', async () => {
    const tenant = await aTenant(url)
    const { rest } = await aKeyOf(tenant, [`${tenant.paths.organization}/**:*`])
    const other = await aKeyOf(tenant, [`${tenant.paths.organization}/**:r`])
    const rotated = await rest.call<{ previousValidUntil: string }>('POST', `${other.path}rotate/`, {})
    const records = async () => (await rest.call<object[]>('GET', '/api/audit/?action=readApiKeyStrings')).body.length
    const before = await records()
    const read = async (query: string) => {
      const { body, headers } = await rest.call<Key[]>('GET', `${keys}?keyStrings=masked${query}`)
      return { body, next: /cursor=[^&>]*/.exec(headers.get('link') ?? '')?.[0], link: headers.get('link') }
    }
    const first = await read('&limit=1')
    expect(first.link).toContain('keyStrings=masked')
    const second = await read(`&limit=1&${first.next}`)
    expect([...first.body, ...second.body]).toMatchObject([
      { keyString: 'ork_************' },
      { keyString: 'ork_************', previousValidUntil: rotated.body.previousValidUntil },
    ])
    expect(first.body[0]).not.toHaveProperty('previousValidUntil')
    expect(await records()).toBe(before)
    expect((await rest.call('GET', `${keys}?keyStrings=full`)).status).toBe(400)
    expect((await rest.call('POST', `${other.path}rotate/`, { overlapSeconds: 0 })).status).toBe(200)
    expect((await read('')).body[1]).not.toHaveProperty('previousValidUntil')
  })

  test('is rotated only by callers who hold all of it', async () => {
    const tenant = await aTenant(url)
    const strong = await aKeyOf(tenant, [`${tenant.paths.organization}/**:*`])
    const manager = await tenant.withKey([`${tenant.paths.organization}:*`])
    expect((await manager.call('POST', `${strong.path}rotate/`, { overlapSeconds: 0 })).status).toBe(403)
  })
})

describe('an organization', () => {
  test('does not tell another tenant that its tenantId is in use', async () => {
    const [first, second] = [await aTenant(url), await aTenant(url)]
    const path = '/api/organizations/current/'
    const patchAs = async (tenant: Tenant, tenantId: string) => {
      const owner = await tenant.withKey([`${tenant.paths.organization}/**:*`])
      const { status, body } = await owner.call('PATCH', path, { tenantId })
      return { status, body }
    }
    expect(await patchAs(first, 'shared-name')).toEqual({ status: 204, body: undefined })
    expect(await patchAs(second, 'shared-name')).toEqual(await patchAs(second, 'free-name'))
    expect((await second.rest.call('PATCH', path, { tenantId: 'shared-name' })).status).toBe(204)
  })

  test('is created by a key and its descendants up to a limit, which the platform key does not have', async () => {
    const tenant = await aTenant(url)
    const claims = { createOrganization: true }
    const key = await aKeyOf(tenant, [`${tenant.paths.organization}/**:*`], { claims })
    const make = (rest: Tenant['rest']) => rest.call<{ code?: string }>('POST', '/api/organizations/', { name: 'More' })
    expect((await make(key.rest)).status).toBe(200)
    const child = await key.rest.call<{ apiKey: string }>('POST', keys, { displayName: 'Child', claims })
    const childRest = createRest(url, tenant.scope, child.body.apiKey)
    expect((await make(childRest)).status).toBe(200)
    for (const rest of [key.rest, childRest]) {
      expect(await make(rest)).toMatchObject({ status: 409, body: { code: 'limit_reached' } })
    }
    for (const _ of [1, 2, 3]) expect((await make(createRest(url))).status).toBe(200)
  })
})

describe('GET /api/credentials/current/', () => {
  type Current = {
    kind: string
    id: string
    name?: string
    organizationId?: string
    expiresAt?: string
    claims: object
  }
  const read = async (credential: Parameters<typeof createRest>[2], scope = {}) =>
    await createRest(url, scope, credential).call<Current>('GET', '/api/credentials/current/')

  test('names a key with what it may do now, and never its string', async () => {
    const tenant = await aTenant(url)
    const permissions = [`${tenant.paths.organization}/**:w`, `${tenant.paths.project}/**:*`]
    const expiresAt = inSeconds(600)
    const key = await aKeyOf(tenant, permissions, {
      displayName: 'Console',
      claims: { largeWorlds: true, bot: false },
      expiresAt,
    })
    const { status, body } = await read(key.apiKey)
    const { organizationId } = tenant.scope
    const { documentId: id } = await key.shown()
    const expected = {
      kind: 'key',
      id,
      name: 'Console',
      organizationId,
      permissions,
      claims: { largeWorlds: true },
      expiresAt,
    }
    expect([status, body]).toEqual([200, expected])

    expect((await tenant.rest.call('PATCH', key.path, { displayName: 'Old', expiresAt: null })).status).toBe(200)
    await within('the change', async () => !('expiresAt' in (await read(key.apiKey)).body))
    expect((await read(key.apiKey)).body).toMatchObject({ name: 'Old' })
  })

  test('ignores the scope headers', async () => {
    const [tenant, other] = [await aTenant(url), await aTenant(url)]
    const apiKey = await tenant.key([`${tenant.paths.organization}/**:r`])
    const { status, body } = await read(apiKey, other.scope)
    expect([status, body.organizationId]).toEqual([200, tenant.scope.organizationId])
  })

  test("shows the permissions of a bot's key as it has them", async () => {
    const tenant = await aTenant(url)
    const world = `${tenant.paths.project}/worlds/${await tenant.world()}`
    const apiKey = await tenant.key([`${tenant.paths.organization}/**:*`, `${world}:w`], {
      claims: { bot: true, largeWorlds: true },
    })
    expect((await read(apiKey)).body).toMatchObject({ permissions: [`${world}:r`], claims: { bot: true } })
  })

  test("names a user by the subject of the token, with the token's permissions and expiry", async () => {
    const tenant = await aTenant(url)
    const permissions = [`${tenant.paths.project}/**:r`]
    const before = Date.now()
    const { body } = await read({ token: await tenant.token('ann', permissions) })
    const { organizationId } = tenant.scope
    expect(body).toEqual({
      kind: 'user',
      id: 'ann',
      organizationId,
      permissions,
      claims: {},
      expiresAt: expect.any(String),
    })
    expect(Date.parse(body.expiresAt ?? '')).toBeGreaterThan(before + 15 * 60_000 - 1_000)
  })

  test.each([rootApiKey, previousRootApiKey])('says that a platform key has full access', async (apiKey) => {
    const claims = { createOrganization: true, largeWorlds: true, worldServer: true }
    expect((await read(apiKey)).body).toEqual({ kind: 'platform', id: 'platform', permissions: ['*'], claims })
  })

  test('is 401 for an expired key, one that does not exist, and no credential', async () => {
    const tenant = await aTenant(url)
    const expiring = await aKeyOf(tenant, [`${tenant.paths.organization}:r`], { expiresAt: inSeconds(2) })
    expect((await read(expiring.apiKey)).status).toBe(200)
    await eventually('its end', async () => (await read(expiring.apiKey)).status === 401)
    expect((await read('ork_unknown')).status).toBe(401)
    expect((await read({ token: 'a.b.c' })).status).toBe(401)
    expect((await send(url, { method: 'GET', path: '/api/credentials/current/' })).status).toBe(401)
  })
})

test('two platform keys are valid at once', async () => {
  for (const apiKey of [rootApiKey, previousRootApiKey]) {
    expect((await createRest(url, {}, apiKey).call('GET', '/api/organizations/')).status).toBe(200)
  }
})

describe('a configuration is refused', () => {
  const configOf = (settings: Record<string, string>) => () =>
    readApiConfig({
      ORRERY_DATABASE_URL: 'postgres://u:p@127.0.0.1/d',
      ORRERY_ROOT_API_KEY: rootApiKey,
      ORRERY_PUBLIC_URL: 'https://api.example.com',
      ...apiSecrets(),
      ...settings,
    })
  const issuersFile = (entry: object): string => {
    const file = join(getServers().logDir, `issuers-${process.pid}-${Math.random()}.json`)
    writeFileSync(file, JSON.stringify([{ issuer: 'https://id.example.com', audience: 'orrery', ...entry }]))
    return file
  }
  const organizations = [`org-${'0'.repeat(26)}`]

  test.each<[string, object, string]>([
    ['an issuer without organizations', { jwksUrl: 'https://id.example.com/jwks' }, 'organizations'],
    ['an issuer with no organization', { jwksUrl: 'https://id.example.com/jwks', organizations: [] }, 'organizations'],
    ['an http JWKS URL', { jwksUrl: 'http://id.example.com/jwks', organizations }, 'loopback'],
    ['an http JWKS URL that looks local', { jwksUrl: 'http://127.0.0.1.example.com/jwks', organizations }, 'loopback'],
  ])('with %s', (_, entry, message) => {
    expect(configOf({ ORRERY_JWT_ISSUERS_FILE: issuersFile(entry) })).toThrow(message)
  })

  test.each([
    { jwksUrl: 'https://id.example.com/jwks', organizations },
    { jwksUrl: 'https://id.example.com/jwks', organizations: ['*'] },
    { jwksUrl: 'http://127.0.0.1:8080/jwks', organizations },
    { jwksUrl: 'http://[::1]:8080/jwks', organizations },
    { jwksUrl: 'http://localhost:8080/jwks', organizations },
  ])('but not with the issuer %j', (entry) => {
    expect(configOf({ ORRERY_JWT_ISSUERS_FILE: issuersFile(entry) })).not.toThrow()
  })

  test.each(['a'.repeat(64), 'abcabcabcabcabcabcabcabcabc', '123456789012345678901234', 'changeme-changeme-changeme'])(
    'with the weak platform key %s, now or previous',
    (weak) => {
      expect(configOf({ ORRERY_ROOT_API_KEY: weak })).toThrow('ORRERY_ROOT_API_KEY')
      expect(configOf({ ORRERY_ROOT_API_KEY_PREVIOUS: weak })).toThrow('ORRERY_ROOT_API_KEY_PREVIOUS')
    },
  )
})

test('a signing key is named by each token and by the key set', async () => {
  const tenant = await aTenant(url)
  const { kid } = decodeProtectedHeader(await tenant.token('ann'))
  const set = await tenant.rest.call<{ keys: { kid: string }[] }>('GET', '/.well-known/jwks.json')
  expect(set.body.keys.map((key) => key.kid)).toContain(kid)
})
