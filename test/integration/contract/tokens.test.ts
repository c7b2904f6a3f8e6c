import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  createRemoteJWKSet,
  decodeProtectedHeader,
  exportSPKI,
  importJWK,
  type JWK,
  type JWTPayload,
  jwtVerify,
  SignJWT,
} from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { anIssuer, aPair, type Pair } from '#test/support/issuer.ts'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import { send } from '#test/support/rest.ts'
import { getServers } from '#test/support/servers.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'

const trusted = { issuer: 'https://login.example.com', audience: 'orrery' }
let api: ApiProcess
let tenant: Tenant
let worldId: string
let issuer: Awaited<ReturnType<typeof anIssuer>>
let first: Pair
beforeAll(async () => {
  issuer = await anIssuer()
  first = await aPair('first')
  issuer.shows(first)
  const file = join(getServers().logDir, `issuers-${process.pid}.json`)
  writeFileSync(file, JSON.stringify([{ ...trusted, jwksUrl: issuer.url, organizations: ['*'] }]))
  api = await startApi({ databaseUrl: await aDatabase(), settings: { ORRERY_JWT_ISSUERS_FILE: file } })
  tenant = await aTenant(api.url)
  worldId = await tenant.world()
  expect((await tenant.rest.call('POST', `/api/worlds/${worldId}/start/`)).status).toBe(200)
})
afterAll(async () => {
  await api?.stop()
  await issuer?.close()
})

const access = async (token: string, userId = 'user-7') => {
  const answer = await send(api.url, {
    method: 'GET',
    path: `/api/worlds/${worldId}/users/${userId}/access/`,
    headers: {
      authorization: `Bearer ${token}`,
      'x-svc-organization-id': tenant.scope.organizationId,
      'x-svc-project-id': tenant.scope.projectId,
    },
  })
  return { status: answer.status, body: JSON.parse(answer.text) as { hasAccess?: boolean } }
}
const seconds = (): number => Math.floor(Date.now() / 1000)

describe('a token of the built-in issuer', () => {
  test('can be verified with the served key set and expires as requested', async () => {
    const made = await tenant.rest.call<{ accessToken: string; expiresAt: string }>('POST', '/api/users/ann/tokens/', {
      durationMinutes: 2,
      permissions: [`${tenant.paths.project}/**:r`],
    })
    const keySet = createRemoteJWKSet(new URL('/.well-known/jwks.json', api.url))
    const { payload, protectedHeader } = await jwtVerify(made.body.accessToken, keySet, {
      issuer: api.url,
      audience: api.url,
    })
    expect(protectedHeader).toMatchObject({ alg: 'ES256', kid: expect.any(String) })
    expect(payload).toMatchObject({
      sub: 'ann',
      organization_id: tenant.scope.organizationId,
      permissions: [`${tenant.paths.project}/**:r`],
    })
    // The clock is read twice, and a second may start in between.
    expect([119, 120]).toContain((payload.exp ?? 0) - (payload.iat ?? 0))
    expect(new Date(made.body.expiresAt).getTime()).toBeGreaterThan(Date.now())
    const { keys } = (await (await fetch(`${api.url}/.well-known/jwks.json`)).json()) as { keys: JWK[] }
    for (const key of keys) expect(Object.keys(key)).not.toContain('d')
  })

  test('grants no more than its creator holds, and only key managers can create it', async () => {
    const { organization, project } = tenant.paths
    const path = '/api/users/ann/tokens/'
    const manager = await tenant.withKey([`${organization}:*`, `${project}/**:w`])
    expect((await manager.call('POST', path, { permissions: [`${project}/**:w`] })).status).toBe(200)
    expect((await manager.call('POST', path, { permissions: [`${project}/**:*`] })).status).toBe(403)
    const writer = await tenant.withKey([`${organization}/**:w`])
    expect((await writer.call('POST', path, {})).status).toBe(403)
    for (const durationMinutes of [0, 61, 1.5]) {
      expect((await tenant.rest.call('POST', path, { durationMinutes })).status).toBe(400)
    }
  })

  test('reads its own subject, and others only if it manages the organization', async () => {
    const [plain, reader, manager] = [
      await tenant.token('user-7'),
      await tenant.token('user-7', [`${tenant.paths.project}/**:r`]),
      await tenant.token('boss', [`${tenant.paths.organization}/**:*`]),
    ]
    expect(await access(reader)).toEqual({ status: 200, body: { userId: 'user-7', hasAccess: true } })
    expect(await access(plain)).toEqual({ status: 200, body: { userId: 'user-7', hasAccess: false } })
    expect((await access(reader, 'other')).status).toBe(403)
    expect((await access(manager, 'other')).status).toBe(200)
    const path = `/api/worlds/${worldId}/`
    await tenant.rest.call('PATCH', path, { isPublic: true })
    expect((await access(plain)).body.hasAccess).toBe(true)
    const stranger = await aTenant(api.url)
    expect((await access(await stranger.token('user-7'))).body.hasAccess).toBe(true)
    await tenant.rest.call('PATCH', path, { admission: { policy: 'Closed' } })
    expect((await access(reader)).body.hasAccess).toBe(false)
    await tenant.rest.call('PATCH', path, { admission: { policy: 'Open' }, isPublic: false })
    await tenant.rest.call('POST', `${path}stop/`)
    expect((await access(reader)).body.hasAccess).toBe(false)
    await tenant.rest.call('POST', `${path}start/`)
    expect((await access(reader)).body.hasAccess).toBe(true)
  })
})

describe('a token of an issuer outside', () => {
  const claims = (more: JWTPayload = {}): JWTPayload => ({
    iss: trusted.issuer,
    aud: trusted.audience,
    sub: 'user-7',
    exp: seconds() + 60,
    organization_id: tenant.scope.organizationId,
    permissions: [`${tenant.paths.project}/**:r`],
    ...more,
  })
  const sign = (payload: JWTPayload, header: object = {}, pair = first) =>
    new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid: pair.kid, ...header }).sign(pair.privateKey)

  test('is accepted if all claims are valid, with 30 s of tolerance', async () => {
    expect(await access(await sign(claims()))).toMatchObject({ status: 200, body: { hasAccess: true } })
    expect((await access(await sign(claims({ exp: seconds() - 20 })))).status).toBe(200)
    expect((await access(await sign(claims({ nbf: seconds() + 20 })))).status).toBe(200)
  })

  test.each([
    ['another audience', { aud: 'other' }],
    ['another issuer', { iss: 'https://evil.example' }],
    ['the built-in issuer', { iss: 'itself' }],
    ['an end in the past', { exp: -60 }],
    ['a beginning in the future', { nbf: 60 }],
    ['no end', { exp: undefined }],
    ['no subject', { sub: undefined }],
    ['no organization', { organization_id: undefined }],
    ['an organization that is no id', { organization_id: 'org-x' }],
  ])('with %s is refused', async (_, more: Record<string, unknown>) => {
    const at = (field: 'exp' | 'nbf') => (typeof more[field] === 'number' ? { [field]: seconds() + more[field] } : {})
    const iss = more.iss === 'itself' ? { iss: api.url } : {}
    expect((await access(await sign(claims({ ...more, ...at('exp'), ...at('nbf'), ...iss })))).status).toBe(401)
  })

  test('with alg none, a shared secret or a key in its header is rejected', async () => {
    const evil = await aPair('first')
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    const none = `${part({ alg: 'none', kid: 'first' })}.${part(claims())}.`
    const secret = new TextEncoder().encode(await exportSPKI(first.publicKey))
    const shared = await new SignJWT(claims()).setProtectedHeader({ alg: 'HS256', kid: 'first' }).sign(secret)
    const embedded = await sign(claims(), { jwk: evil.jwk }, evil)
    const elsewhere = await sign(claims(), { jku: 'http://127.0.0.1:1/jwks' }, evil)
    const another = await sign(claims(), {}, await aPair('first'))
    const unknown = await sign(claims(), {}, await aPair('nobody'))
    const weak = await aPair('first', 'RS512')
    const algorithm = await new SignJWT(claims())
      .setProtectedHeader({ alg: 'RS512', kid: 'first' })
      .sign(weak.privateKey)
    for (const token of [none, shared, embedded, elsewhere, another, unknown, algorithm]) {
      expect([decodeProtectedHeader(token), (await access(token)).status]).toEqual([decodeProtectedHeader(token), 401])
    }
  })

  test('cannot be signed with the built-in issuer’s public key as a secret either', async () => {
    const { keys } = (await (await fetch(`${api.url}/.well-known/jwks.json`)).json()) as { keys: JWK[] }
    const [key = {}] = keys
    const publicKey = await importJWK(key, 'ES256', { extractable: true })
    if (publicKey instanceof Uint8Array) throw new Error('not a public key')
    const secret = new TextEncoder().encode(await exportSPKI(publicKey))
    const payload = claims({ iss: api.url, aud: api.url })
    const token = await new SignJWT(payload).setProtectedHeader({ alg: 'HS256', kid: key.kid ?? '' }).sign(secret)
    expect((await access(token)).status).toBe(401)
  })

  test('gains nothing from permissions outside its organization', async () => {
    const stranger = await aTenant(api.url)
    const permissions = [`${tenant.paths.organization}/**:*`, '*']
    const token = await sign(claims({ organization_id: stranger.scope.organizationId, permissions }))
    expect(await access(token)).toMatchObject({ status: 200, body: { hasAccess: false } })
    expect((await access(token, 'other')).status).toBe(403)
  })

  test("of an unknown key fetches the issuer's keys at most once in 30 s", async () => {
    const before = issuer.asked()
    const unknown = await sign(claims(), {}, await aPair('flood'))
    for (let at = 0; at < 10; at += 1) await access(unknown)
    expect(issuer.asked() - before).toBeLessThanOrEqual(1)
  })

  test('is still accepted while the issuer is down', async () => {
    issuer.goesAway()
    expect((await access(await sign(claims()))).status).toBe(200)
  })
})

test('accepts tokens of both keys during a rotation with overlap', async () => {
  const rotating = await anIssuer()
  const [old, next] = [await aPair('old'), await aPair('next', 'ES256')]
  rotating.shows(old, next)
  const file = join(getServers().logDir, `issuers-rotating-${process.pid}.json`)
  writeFileSync(file, JSON.stringify([{ ...trusted, jwksUrl: rotating.url, organizations: ['*'] }]))
  const other = await startApi({ databaseUrl: await aDatabase(), settings: { ORRERY_JWT_ISSUERS_FILE: file } })
  const { scope } = await aTenant(other.url)
  for (const { kid, privateKey, jwk } of [old, next]) {
    const token = await new SignJWT({ organization_id: scope.organizationId })
      .setProtectedHeader({ alg: jwk.alg ?? '', kid })
      .setSubject('user-7')
      .setIssuer(trusted.issuer)
      .setAudience(trusted.audience)
      .setExpirationTime('1m')
      .sign(privateKey)
    const answer = await send(other.url, {
      method: 'GET',
      path: `/api/worlds/wld-${'0'.repeat(26)}/users/user-7/access/`,
      headers: {
        authorization: `Bearer ${token}`,
        'x-svc-organization-id': scope.organizationId,
        'x-svc-project-id': scope.projectId,
      },
    })
    expect(answer).toMatchObject({ status: 200, text: '{"userId":"user-7","hasAccess":false}' })
  }
  await other.stop()
  await rotating.close()
})
