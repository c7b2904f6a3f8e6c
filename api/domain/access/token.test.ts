import { DrizzleQueryError } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { createRateLimits } from '#api/domain/endpoint/rateLimit.ts'
import { createGate } from '#api/realtime/gate.ts'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { createTokenVerifier, toVerifiedToken } from './token.ts'

/** An unsigned token. The fake issuer below accepts it. */
const tokenOf = (organizationId: string): string =>
  [{ alg: 'none' }, { iss: 'issuer', sub: 'ann', organization_id: organizationId }]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .concat('')
    .join('.')

const aUserOf = async (organizationId: string) => {
  const issuer = {
    url: 'issuer',
    verify: async () => ({
      userId: 'ann',
      organizationId,
      permissions: [],
      expiresAtMs: 60_000,
      issued: { id: 'tok-1', keyId: 'key-1', signingKeyId: 'signing-1' },
    }),
    sign: async () => '',
    keySet: async () => ({ keys: [] }),
  }
  const verify = createTokenVerifier({
    issuer,
    external: [],
    clock: createFakeClock(),
    confirm: async (principal) => principal,
  })
  const user = await verify(tokenOf(organizationId))
  if (user === undefined) throw new Error('The token was refused.')
  return user
}

test('throws a 503 if the keys of an external issuer cannot be fetched', async () => {
  const verify = createTokenVerifier({
    issuer: { verify: () => Promise.reject(new Error('not called')) },
    external: [
      {
        issuer: 'issuer',
        audience: 'orrery',
        jwksUrl: 'http://127.0.0.1:1/jwks',
        organizations: ['*'],
        groupsClaim: 'groups',
      },
    ],
    clock: createFakeClock(),
    confirm: async (principal) => principal,
  })
  const token = `${Buffer.from('{"alg":"ES256","kid":"key-1"}').toString('base64url')}.${tokenOf('org-1').split('.')[1]}.AA`
  for (const attempt of [verify(token), verify.loadKeys('issuer')])
    await expect(attempt).rejects.toMatchObject({ code: 'unavailable', headers: { 'retry-after': '5' } })
})

test.each([
  ['the keys of the issuer', 'verify'],
  ['the key that minted a token', 'confirm'],
])('a token is not invalid because %s cannot be read', async (_, failing) => {
  const lost = new DrizzleQueryError('select', [], new Error('Connection terminated unexpectedly'))
  const verified = { userId: 'ann', organizationId: 'org-1', permissions: [], expiresAtMs: 60_000 }
  const issued = { id: 'tok-1', keyId: 'key-1', signingKeyId: 'signing-1' }
  for (const error of [lost, lost.cause]) {
    const verify = createTokenVerifier({
      issuer: { verify: async () => (failing === 'verify' ? Promise.reject(error) : { ...verified, issued }) },
      external: [],
      clock: createFakeClock(),
      confirm: () => Promise.reject(error),
    })
    await expect(verify(tokenOf('org-1'))).rejects.toBe(error)
  }
})

test('a token with an expiry that no number can hold is invalid', () => {
  const payload = { sub: 'ann', organization_id: 'org-00000000000000000000000000' }
  expect(toVerifiedToken({ ...payload, exp: 60 })).toMatchObject({ expiresAtMs: 90_000 })
  expect(() => toVerifiedToken({ ...payload, exp: 8_640_000_000_000 })).toThrow()
  expect(() => toVerifiedToken({ ...payload, ...(JSON.parse('{"exp": 1e400}') as { exp: number }) })).toThrow()
})

test('users of two tenants with the same issuer and subject have separate request limits', async () => {
  const options = { requestsPerSecond: 1, burst: 1, startsPerMinute: 1, failedCredentialsPerMinute: 1 }
  const { countRequest } = createRateLimits(createFakeClock(), options, () => ({
    maxRequestsPerSecond: 100,
    maxDocumentBytesPerSecond: 1,
  }))
  const [ours, theirs] = [await aUserOf('org-1'), await aUserOf('org-2')]
  countRequest(ours)
  expect(() => countRequest(ours)).toThrow()
  expect(() => countRequest(theirs)).not.toThrow()
})

test('users of two tenants with the same issuer and subject have separate connection limits', async () => {
  const gate = createGate({ socketsPerKey: 1, socketsPerAddress: 10 })
  const [ours, theirs] = [await aUserOf('org-1'), await aUserOf('org-2')]
  gate.enter(ours, '::1')
  expect(() => gate.enter(ours, '::1')).toThrow()
  expect(() => gate.enter(theirs, '::1')).not.toThrow()
})
