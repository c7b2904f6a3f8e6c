import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { createShares } from '#api/platform/fairness/shares.ts'
import { systemClock } from '#shared/clock.ts'
import { createLog } from '#shared/log.ts'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { createOpenIdClient } from './client.ts'
import { createDiscovery } from './discovery.ts'

type Answer = { status?: number; body: string | object; headers?: Record<string, string>; isCut?: boolean }
const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

/** Starts an issuer whose answers the test sets, with a client of it. */
const anIssuer = async ({
  discovery = {} as object,
  isSlashed = false,
  clock = { ...createFakeClock(), setTimeout: systemClock.setTimeout },
} = {}) => {
  let token: Answer = { body: {} }
  let discoveryStatus = 200
  const asked: { url: string; authorization: string | undefined; body: string }[] = []
  const answerTo = ({ url }: IncomingMessage): Answer =>
    url === '/token' ? token : { status: discoveryStatus, body: { ...document, ...discovery } }
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request)).toString()
    asked.push({ url: request.url ?? '', authorization: request.headers.authorization, body })
    const { status = 200, headers = {}, body: content, isCut = false } = answerTo(request)
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.write(typeof content === 'string' ? content : JSON.stringify(content))
    if (isCut) request.socket.end()
    else response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ends.push(() => server.close())
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const document = {
    issuer: isSlashed ? `${issuer}/` : issuer,
    authorization_endpoint: `${issuer}/auth?tenant=a`,
    token_endpoint: `${issuer}/token`,
  }
  const share = createShares(clock, { maxConcurrent: 1, maxWaiting: 0, maxWaitMs: 0 })
  const registration = { issuer, clientId: 'console', clientSecret: 'a secret', scopes: ['openid', 'email'] }
  const lines: string[] = []
  const log = createLog({ name: 'test', level: 'warn', destination: { write: (line) => lines.push(line) } })
  const client = createOpenIdClient(registration, { clock, log, runInShare: share })
  return {
    client,
    lines,
    issuer: document.issuer,
    breaks: (isBroken: boolean) => {
      discoveryStatus = isBroken ? 500 : 200
    },
    asked,
    discoveries: () => asked.filter(({ url }) => url === '/.well-known/openid-configuration').length,
    answers: (answer: Answer) => {
      token = answer
    },
  }
}
const request = { redirectUri: 'https://a.example.com/console/', state: 's', nonce: 'n', codeChallenge: 'c' }
const tokens = { access_token: 'a', token_type: 'Bearer' }

test('the address of a sign-in keeps the query of the endpoint, and has the challenge', async () => {
  const { client } = await anIssuer()
  const { searchParams } = new URL(await client.authorizationUrl(request))
  expect(Object.fromEntries(searchParams)).toEqual({
    tenant: 'a',
    client_id: 'console',
    response_type: 'code',
    scope: 'openid email',
    redirect_uri: request.redirectUri,
    state: 's',
    nonce: 'n',
    code_challenge: 'c',
    code_challenge_method: 'S256',
  })
})

test.each<[string, object]>([
  ['"issuer" property does not match', { issuer: 'https://id.example.com' }],
  ['its token_endpoint must be https', { token_endpoint: 'http://metadata.example.com/token' }],
  ['its authorization_endpoint must be https', { authorization_endpoint: 'javascript:alert(1)' }],
  ['its token_endpoint must be https', { token_endpoint: undefined }],
  ['its token_endpoint must be https', { token_endpoint: ['https://id.example.com/token'] }],
  ['its token_endpoint must be https', { token_endpoint: 'https://user@id.example.com/token' }],
  ['its authorization_endpoint must be https', { authorization_endpoint: 'https://id.example.com/#a' }],
])('a configuration is refused: %s', async (fault, discovery) => {
  const { client } = await anIssuer({ discovery })
  const problem = { code: 'unavailable', message: expect.stringContaining(fault), headers: { 'retry-after': '5' } }
  await expect(client.authorizationUrl(request)).rejects.toMatchObject(problem)
})

test('a configuration is refused if its issuer differs in a slash, since the claim iss would differ too', async () => {
  const { client } = await anIssuer({ isSlashed: true })
  await expect(client.authorizationUrl(request)).rejects.toThrow('its issuer is not the same text')
})

test('a configuration is read once in five minutes, and a faulty one once in five seconds', async () => {
  const time = createFakeClock()
  const clock = { ...time, setTimeout: systemClock.setTimeout }
  const issuer = await anIssuer({ clock })
  for (let count = 0; count < 3; count++) await issuer.client.authorizationUrl(request)
  time.advance(300_000)
  issuer.answers({ body: tokens })
  // Its request comes after one for the configuration would.
  await issuer.client.refresh('r')
  expect(issuer.discoveries()).toBe(1)
  time.advance(1)
  await issuer.client.authorizationUrl(request)
  await expect.poll(issuer.discoveries).toBe(2)
  const faulty = await anIssuer({ clock, discovery: { issuer: 'other' } })
  for (let count = 0; count < 3; count++) await faulty.client.authorizationUrl(request).catch(() => undefined)
  expect(faulty.discoveries()).toBe(1)
  time.advance(5_001)
  await faulty.client.authorizationUrl(request).catch(() => undefined)
  expect(faulty.discoveries()).toBe(2)
})

test('an old configuration is read before the next call, and stays in use if that fails, which the log says once in five seconds', async () => {
  const time = createFakeClock()
  const discovery = { authorization_endpoint: 'https://id.example.com/old' }
  const issuer = await anIssuer({ clock: { ...time, setTimeout: systemClock.setTimeout }, discovery })
  const endpoint = async () => new URL(await issuer.client.authorizationUrl(request)).pathname
  expect(await endpoint()).toBe('/old')
  discovery.authorization_endpoint = 'https://id.example.com/new'
  time.advance(300_001)
  issuer.breaks(true)
  expect([await endpoint(), await endpoint()]).toEqual(['/old', '/old'])
  expect(issuer.lines).toEqual([expect.stringContaining('stays in use')])
  time.advance(5_001)
  issuer.breaks(false)
  expect(await endpoint()).toBe('/new')
})

test('calls at the same time read a configuration once', async () => {
  const { client, discoveries } = await anIssuer()
  await Promise.all([1, 2, 3].map(() => client.authorizationUrl(request)))
  expect(discoveries()).toBe(1)
})

const log = createLog({ name: 'test', level: 'silent' })

test('an issuer that hangs until the deadline is not asked again at once', async () => {
  const clock = createFakeClock()
  let attempts = 0
  const fetch = async () => {
    attempts += 1
    clock.advance(5_001)
    throw new Error('The deadline has passed.')
  }
  const discover = createDiscovery('https://id.example.com', { clock, log, fetch })
  for (let count = 0; count < 3; count++) await expect(discover()).rejects.toThrow('The deadline')
  expect(attempts).toBe(1)
})

test('an issuer elsewhere must not name an endpoint on loopback', async () => {
  const issuer = 'https://id.example.com'
  const clock = createFakeClock()
  const discover = (endpoint: string) => {
    const document = { issuer, authorization_endpoint: `${issuer}/auth`, token_endpoint: endpoint }
    return createDiscovery(issuer, { clock, log, fetch: async () => Response.json(document) })()
  }
  for (const endpoint of ['http://127.0.0.1/token', 'https://127.0.0.1/token', 'https://localhost/token'])
    await expect(discover(endpoint)).rejects.toThrow('its token_endpoint must be https')
  expect(await discover('https://other.example.com/token')).toMatchObject({ issuer })
})

test('the secret is sent in the body where the issuer takes it there, and in the header otherwise', async () => {
  const plain = await anIssuer()
  plain.answers({ body: tokens })
  await plain.client.refresh('r')
  expect(plain.asked.at(-1)?.authorization).toMatch(/^Basic /)
  const post = await anIssuer({ discovery: { token_endpoint_auth_methods_supported: ['client_secret_post'] } })
  post.answers({ body: tokens })
  await post.client.refresh('r')
  expect(post.asked.at(-1)).toMatchObject({
    authorization: undefined,
    body: expect.stringContaining('client_secret=a+secret'),
  })
})

test.each<[string, Answer, string, string]>([
  ['an error', { status: 400, body: { error: 'invalid_grant' } }, 'unauthenticated', 'invalid_grant. Sign in again'],
  [
    'an error with a challenge',
    { status: 401, headers: { 'www-authenticate': 'Basic realm="a"' }, body: { error: 'invalid_client' } },
    'unavailable',
    'ORRERY_JWT_ISSUERS_FILE: the issuer http',
  ],
  ['an error of the client', { status: 400, body: { error: 'invalid_scope' } }, 'unavailable', '(invalid_scope)'],
  [
    'a description that is no text',
    { status: 400, body: { error: 'e', error_description: { toString: 1 } } },
    'unauthenticated',
    'refuses the sign-in: e. Sign in',
  ],
  [
    'a hostile description',
    { status: 400, body: { error: 'e', error_description: `\u202e<b>\n${'x'.repeat(5_000)}` } },
    'unauthenticated',
    `(?<b>?${'x'.repeat(195)}). Sign in`,
  ],
  ['another type of token', { body: { ...tokens, token_type: 'DPoP' } }, 'unauthenticated', 'not Bearer'],
  ['no token', { body: {} }, 'unauthenticated', 'invalid'],
  ['no JSON', { body: '<html>' }, 'unauthenticated', 'invalid'],
  ['a fault of its own', { status: 500, body: { error: 'server_error' } }, 'unavailable', 'does not answer'],
  ['too many requests', { status: 429, body: {} }, 'unavailable', 'does not answer'],
  ['an early end', { body: tokens, isCut: true }, 'unavailable', 'does not answer'],
  ['more than 256 KiB', { body: { ...tokens, more: 'x'.repeat(262_144) } }, 'unavailable', 'does not answer'],
  ['a redirect', { status: 302, headers: { location: '/' }, body: '' }, 'unavailable', 'does not answer'],
])('an answer with %s is a problem', async (_, answer, code, detail) => {
  const { client, answers } = await anIssuer()
  answers(answer)
  await expect(client.refresh('r')).rejects.toMatchObject({ code, message: expect.stringContaining(detail) })
})

test('an answer without an ID token is a problem, and so is one of a list of methods that is no list', async () => {
  const { client, answers } = await anIssuer({ discovery: { token_endpoint_auth_methods_supported: 7 } })
  answers({ body: tokens })
  const returned = { ...request, code: 'c', codeVerifier: 'v'.repeat(43) }
  await expect(client.exchange(returned)).rejects.toMatchObject({
    code: 'unauthenticated',
    message: expect.stringContaining('"id_token"'),
  })
})

test('an ID token is checked by the clock of the process, with 30 s of tolerance', async () => {
  const clock = { ...createFakeClock(Date.parse('2026-01-01T00:00:00.000Z')), setTimeout: systemClock.setTimeout }
  const { client, answers, issuer } = await anIssuer({ clock })
  const exchangeAt = (lateSeconds: number) => {
    const exp = clock.now() / 1_000 - lateSeconds
    const claims = { iss: issuer, aud: 'console', sub: 'ada', nonce: request.nonce, iat: exp - 60, exp }
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    answers({ body: { ...tokens, id_token: `${part({ alg: 'RS256' })}.${part(claims)}.AA` } })
    return client.exchange({ ...request, code: 'c', codeVerifier: 'v'.repeat(43) })
  }
  expect(await exchangeAt(20)).toMatchObject({ accessToken: 'a' })
  await expect(exchangeAt(40)).rejects.toMatchObject({ code: 'unauthenticated' })
})

test('a problem does not keep the tokens of a faulty answer', async () => {
  const { client, answers } = await anIssuer()
  answers({ body: { access_token: 'the-token', token_type: 7 } })
  const problem = await client.refresh('r').catch((error: unknown) => error)
  expect(problem).toMatchObject({ code: 'unauthenticated', cause: undefined })
})

test('a call beyond the share of an issuer is a 503', async () => {
  const { client, answers } = await anIssuer()
  answers({ body: tokens })
  await client.authorizationUrl(request)
  const results = await Promise.allSettled([client.refresh('r'), client.refresh('r')])
  expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
})
