import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { issuerIdOf } from '#api/domain/signIn/issuers.ts'
import { openDatabase } from '#api/platform/database/client.ts'
import { anOpenIdProvider } from '#test/support/openIdProvider.ts'
import { type ApiProcess, aDatabase, rootApiKey, startApi } from '#test/support/processes.ts'
import { createRest, inNewProject, send } from '#test/support/rest.ts'
import { getServers } from '#test/support/servers.ts'

type Provider = Awaited<ReturnType<typeof anOpenIdProvider>>
type Token = { accessToken: string; expiresAt: string; refreshToken: string }

let provider: Provider
/** Its access tokens are opaque, and its ID tokens are used. */
let withIdTokens: Provider
/** Its access tokens are opaque, and they are used. */
let opaque: Provider
/** The API has another secret of its client. */
let withOtherSecret: Provider
/** The API does not get its keys. */
let withoutKeys: Provider
let api: ApiProcess
let project: Awaited<ReturnType<typeof inNewProject>>
let organizationId: string
beforeAll(async () => {
  provider = await anOpenIdProvider()
  ;[withIdTokens, opaque, withOtherSecret, withoutKeys] = await Promise.all([
    anOpenIdProvider({ accessTokens: 'opaque' }),
    anOpenIdProvider({ accessTokens: 'opaque' }),
    anOpenIdProvider(),
    anOpenIdProvider(),
  ])
  const { logDir } = getServers()
  const secretFile = join(logDir, `client-secret-${process.pid}`)
  writeFileSync(secretFile, `${provider.client.secret}\n`)
  const file = join(logDir, `sign-in-issuers-${process.pid}.json`)
  const issuers = [
    provider.entry({ clientSecret: undefined, clientSecretFile: secretFile }),
    withIdTokens.entry({ name: 'With ID tokens', token: 'id' }),
    opaque.entry({ name: 'Opaque' }),
    withOtherSecret.entry({ name: 'Other secret', clientSecret: 'wrong' }),
    { ...withoutKeys.entry({ name: 'Without keys' }), jwksUrl: 'http://127.0.0.1:1/jwks' },
    { issuer: 'https://login.example.com', audience: 'orrery', jwksUrl: provider.url, organizations: ['*'] },
  ]
  writeFileSync(file, JSON.stringify(issuers))
  const settings = { ORRERY_JWT_ISSUERS_FILE: file, ORRERY_ALLOWED_ORIGINS: 'http://127.0.0.1:4321' }
  api = await startApi({ databaseUrl: await aDatabase(), settings })
  project = await inNewProject(api.url)
  organizationId = project.scope.organizationId ?? ''
  const claims = { organization_id: organizationId, permissions: [`organizations/${organizationId}/**:r`] }
  for (const each of providers()) each.hasUser('ada', claims)
})
afterAll(async () => {
  await api?.stop()
  await Promise.all(providers().map((each) => each?.close()))
})
const providers = () => [provider, withIdTokens, opaque, withOtherSecret, withoutKeys]

/** Sends a request without a credential. */
const post = async (path: string, body: object, url = api.url) => {
  const headers = { 'content-type': 'application/json' }
  const answer = await send(url, { method: 'POST', path: `/api/sign-in/${path}/`, headers, body: JSON.stringify(body) })
  return { ...answer, body: JSON.parse(answer.text) as Token & { url: string; detail: string } }
}
const codeVerifier = randomBytes(32).toString('base64url')
const redirectUri = (issuer: string, origin = api.url) => `${origin}/console/?issuer=${issuerIdOf(issuer)}`

/** Returns the body of a request for an address. */
const aRequest = (issuer: string) => ({
  issuer,
  redirectUri: redirectUri(issuer),
  state: 'the-state',
  nonce: 'the-nonce',
  codeChallenge: createHash('sha256').update(codeVerifier).digest('base64url'),
})

/** Signs a user in at the issuer, and returns the body with the code. */
const aCode = async (from: Provider, login = 'ada', to = redirectUri(from.url), url = api.url) => {
  const { body } = await post('requests', { ...aRequest(from.url), redirectUri: to }, url)
  const back = await from.signsIn(body.url, login)
  expect(back.href.startsWith(`${to}&`)).toBe(true)
  expect(back.searchParams.get('state')).toBe('the-state')
  const [code, iss] = [back.searchParams.get('code') ?? '', back.searchParams.get('iss') ?? '']
  return { issuer: from.url, redirectUri: to, code, iss, codeVerifier, nonce: 'the-nonce' }
}
const exchange = (body: object) => post('tokens', body)
const refresh = (issuer: string, refreshToken: string) => post('refresh', { issuer, refreshToken })
const refused = (detail: string) => ({
  status: 401,
  body: { code: 'unauthenticated', detail: expect.stringContaining(detail) },
})
/** Waits for a text in the log, which is written with a delay. */
const hasLogged = (text: string, { logFile } = api) => expect.poll(() => readFileSync(logFile, 'utf8')).toContain(text)
const current = ({ accessToken }: Token) =>
  createRest(api.url, { organizationId }, { token: accessToken }).call('GET', '/api/credentials/current/')

test('issuers with a client are listed by name, without their clients', async () => {
  const { body } = await createRest(api.url).call('GET', '/api/sign-in/issuers/')
  const names = [
    [provider, 'Example'],
    [withIdTokens, 'With ID tokens'],
    [opaque, 'Opaque'],
    [withOtherSecret, 'Other secret'],
    [withoutKeys, 'Without keys'],
  ] as const
  expect(body).toEqual({ issuers: names.map(([{ url }, name]) => ({ id: issuerIdOf(url), issuer: url, name })) })
})

test('a person signs in with a code and PKCE, and the token is one that the API accepts until it expires', async () => {
  const { status, body } = await exchange(await aCode(provider))
  expect(status).toBe(200)
  expect(await current(body)).toMatchObject({ status: 200, body: { kind: 'user', id: 'ada' } })
  const { exp = 0 } = decodeJwt(body.accessToken)
  expect(Date.parse(body.expiresAt)).toBe((exp + 30) * 1_000)
})

test('the console may be at an allowed origin', async () => {
  expect(
    (await exchange(await aCode(provider, 'ada', redirectUri(provider.url, 'http://127.0.0.1:4321')))).status,
  ).toBe(200)
})

test('a refresh token gets the next token, once', async () => {
  const first = (await exchange(await aCode(provider))).body
  const next = await refresh(provider.url, first.refreshToken)
  expect(next.status).toBe(200)
  expect(next.body.accessToken).not.toBe(first.accessToken)
  expect((await current(next.body)).status).toBe(200)
  expect(await refresh(provider.url, first.refreshToken)).toMatchObject(refused('invalid_grant'))
})

test('a user whom the issuer has removed gets no next token', async () => {
  provider.hasUser('bob', { organization_id: organizationId })
  const { refreshToken } = (await exchange(await aCode(provider, 'bob'))).body
  provider.forgets('bob')
  expect(await refresh(provider.url, refreshToken)).toMatchObject(refused('invalid_grant'))
})

test('an ID token is used where access tokens are opaque, and after a refresh too', async () => {
  const first = await exchange(await aCode(withIdTokens))
  expect(decodeJwt(first.body.accessToken)).toMatchObject({ aud: withIdTokens.client.id, nonce: 'the-nonce' })
  expect((await current(first.body)).status).toBe(200)
  const next = await refresh(withIdTokens.url, first.body.refreshToken)
  expect((await current(next.body)).status).toBe(200)
})

test('an opaque access token is refused with what to set', async () => {
  const answer = await exchange(await aCode(opaque))
  expect(answer).toMatchObject(refused('it is opaque. Give the client the audience orrery'))
  expect(answer.body.detail).toContain('set signIn.token to id')
})

test.each<[string, Record<string, unknown>, string]>([
  ['without an organization', {}, 'it has no claim organization_id'],
  ['of an organization that does not exist', { organization_id: `org-${'0'.repeat(26)}` }, 'does not exist'],
  ['with a malformed organization', { organization_id: 'acme' }, 'is not the id of an organization'],
])('a token %s is refused with the claim at fault', async (name, claims, detail) => {
  provider.hasUser(name, claims)
  expect(await exchange(await aCode(provider, name))).toMatchObject(refused(detail))
  await hasLogged(detail)
})

test.each<[string, object, string]>([
  ['used', {}, 'invalid_grant'],
  ['with another verifier', { codeVerifier: 'v'.repeat(43) }, 'invalid_grant'],
  ['with another nonce', { nonce: 'other' }, '"nonce"'],
  ['of another issuer', { iss: 'https://attacker.example.com' }, '"iss"'],
  ['without the issuer that it sends', { iss: undefined }, '"iss"'],
])('a code is refused: %s', async (name, changes, detail) => {
  const body = await aCode(provider)
  if (name === 'used') expect((await exchange(body)).status).toBe(200)
  expect(await exchange({ ...body, ...changes })).toMatchObject(refused(detail))
})

test('a client that the issuer refuses is a fault of the settings, which the log names', async () => {
  const fault = 'refuses the client (invalid_client)'
  const answer = await exchange(await aCode(withOtherSecret))
  expect(answer).toMatchObject({ status: 503, body: { detail: expect.stringContaining(fault) } })
  await hasLogged(fault)
})

test('a code is refused with the address of another origin', async () => {
  const body = { ...(await aCode(provider)), redirectUri: redirectUri(provider.url, 'http://127.0.0.1:4321') }
  expect(await exchange(body)).toMatchObject(refused('invalid_grant'))
})

test('codes are sent to the console only, at the address of their issuer', async () => {
  const own = redirectUri(provider.url)
  const others = ['https://attacker.example.com/console/', `${api.url}/console/`, `${own}&x`, '']
  for (const other of [...others, redirectUri(withIdTokens.url)]) {
    const { status, body } = await post('requests', { ...aRequest(provider.url), redirectUri: other })
    expect({ status, body }).toMatchObject({ status: 400, body: { errors: [{ path: '/redirectUri' }] } })
    expect(body.detail).toContain('ORRERY_ALLOWED_ORIGINS')
  }
})

test('a code is sent to the issuer only to whose address the browser returned', async () => {
  const body = await aCode(provider)
  const status = async (changes: object) => (await exchange({ ...body, ...changes })).status
  expect(await status({ issuer: withIdTokens.url, iss: withIdTokens.url })).toBe(400)
  expect(await status({ redirectUri: redirectUri(withIdTokens.url) })).toBe(400)
  expect(await status({})).toBe(200)
})

test('an issuer without a client is a 404', async () => {
  for (const issuer of ['https://login.example.com', 'https://id.example.com']) {
    expect((await post('requests', aRequest(issuer))).status).toBe(404)
    expect((await refresh(issuer, 'a-token')).status).toBe(404)
  }
})

test('an issuer that does not answer is a 503 with Retry-After, and the next sign-in after its return succeeds', async () => {
  const body = await aCode(provider)
  provider.goesAway()
  const answer = await exchange(body)
  expect(answer).toMatchObject({ status: 503, body: { detail: expect.stringContaining('does not answer') } })
  expect(answer.headers.get('retry-after')).toBe('5')
  provider.comesBack()
  expect((await exchange(body)).status).toBe(200)
})

test('a sign-in leaves an audit record of the user in the organization, and a refresh none', async () => {
  provider.hasUser('audited', { organization_id: organizationId })
  const { refreshToken } = (await exchange(await aCode(provider, 'audited'))).body
  expect((await refresh(provider.url, refreshToken)).status).toBe(200)
  const { body } = await project.call('GET', '/api/audit/?actor=audited')
  expect(body).toMatchObject([{ action: 'createSignInToken', actor: { kind: 'user', id: 'audited' }, resources: [] }])
})

test('a code stays valid if the API could not verify the token', async () => {
  const answer = await exchange(await aCode(withoutKeys))
  expect(answer).toMatchObject({ status: 503, body: { detail: expect.stringContaining('keys of the token issuer') } })
  expect(withoutKeys.tokenRequests()).toBe(0)
})

test('refused sign-ins count as failed credentials of their address, at the same time too, and others do not', async () => {
  const file = join(getServers().logDir, `sign-in-limited-${process.pid}.json`)
  writeFileSync(file, JSON.stringify([provider.entry(), withOtherSecret.entry({ clientSecret: 'wrong' })]))
  const settings = { ORRERY_JWT_ISSUERS_FILE: file, ORRERY_LIMIT_FAILED_CREDENTIALS_PER_MINUTE: '2' }
  const limited = await startApi({ databaseUrl: await aDatabase(), settings })
  try {
    const ask = async ({ url }: Provider) =>
      (await post('refresh', { issuer: url, refreshToken: 'unknown' }, limited.url)).status
    for (let count = 0; count < 3; count++) expect(await ask(withOtherSecret)).toBe(503)
    const before = provider.tokenRequests()
    const statuses = await Promise.all([provider, provider, provider, provider].map(ask))
    expect(statuses.toSorted()).toEqual([401, 401, 429, 429])
    expect(provider.tokenRequests() - before).toBe(2)
  } finally {
    await limited.stop()
  }
})

test('a sign-in succeeds without its audit record, which the log says', async () => {
  const file = join(getServers().logDir, `sign-in-unaudited-${process.pid}.json`)
  writeFileSync(file, JSON.stringify([provider.entry()]))
  const databaseUrl = await aDatabase()
  const unaudited = await startApi({ databaseUrl, settings: { ORRERY_JWT_ISSUERS_FILE: file } })
  const { db, close } = openDatabase({ url: databaseUrl, poolSize: 1 })
  try {
    const { scope } = await inNewProject(unaudited.url)
    provider.hasUser('unaudited', { organization_id: scope.organizationId })
    await db.execute(sql`alter table audit_records rename to gone`)
    const to = redirectUri(provider.url, unaudited.url)
    const { status } = await post('tokens', await aCode(provider, 'unaudited', to, unaudited.url), unaudited.url)
    expect(status).toBe(200)
    await hasLogged('a sign-in has no audit record', unaudited)
  } finally {
    await close()
    await unaudited.stop()
  }
})

test('no secret of a sign-in is in the log', async () => {
  const body = await aCode(provider)
  const { accessToken, refreshToken } = (await exchange(body)).body
  await exchange(body)
  const log = readFileSync(api.logFile, 'utf8')
  expect(log).toContain('/api/sign-in/tokens/')
  for (const secret of [body.code, codeVerifier, accessToken, refreshToken, provider.client.secret, rootApiKey]) {
    expect(log).not.toContain(secret)
  }
})
