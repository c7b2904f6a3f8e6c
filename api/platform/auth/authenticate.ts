import { createHash, timingSafeEqual } from 'node:crypto'
import type { Context as HonoContext } from 'hono'
import { isInNetworks } from '#api/platform/http/clientAddress.ts'
import { toBlockList } from '#api/platform/http/networks.ts'
import { Problem } from '#api/platform/http/problem.ts'
import type { KeyCache } from './keyCache.ts'
import { anonymous, type Principal } from './principal.ts'

/** The kinds of credential that an endpoint accepts. */
export type Credential = 'none' | 'key' | 'token' | 'keyOrToken'

/** A header with a credential. The value is a secret. */
export type CredentialHeader = readonly [name: 'x-api-key' | 'authorization', value: string]

/** Returns the header with the credential of a request, or undefined if it has none. A key takes precedence over a token. */
export const credentialHeaderOf = (c: HonoContext): CredentialHeader | undefined => {
  const [apiKey, authorization] = [c.req.header('x-api-key'), c.req.header('authorization')]
  if (apiKey !== undefined) return ['x-api-key', apiKey]
  return authorization === undefined ? undefined : ['authorization', authorization]
}

/** The detail and the challenge of a 401 for a request without a credential. */
const missing: Record<Exclude<Credential, 'none'>, readonly [detail: string, challenge: string]> = {
  key: ['The request has no API key. Send the header x-api-key.', 'ApiKey'],
  token: ['The request has no token. Send the header Authorization: Bearer <token>.', 'Bearer'],
  keyOrToken: [
    'The request has no credential. Send an API key in the header x-api-key, or Authorization: Bearer <token>.',
    'ApiKey, Bearer',
  ],
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

type Options = {
  rootApiKey: string
  /** The platform key before a rotation. Both keys are valid. */
  previousRootApiKey?: string | undefined
  /** The principal of the platform keys. */
  platform: Principal
  /** Returns the id of a platform key. */
  platformKeyIdOf: (platformKey: string) => string
  keys: KeyCache
  /** Called with the id of each key that authenticated a request. */
  onUse?: (apiKeyId: string) => void
  verify: (token: string) => Promise<Principal | undefined>
  /** Returns the client address of a request. */
  addressOf: (c: HonoContext) => string
  /** Counts a failed credential. Throws a 429 above the limit of the address. */
  countFailure: (address: string) => void
}

/**
 * Returns a function that authenticates a request. It throws a 401 if the credential is missing or invalid. A valid token is
 * authenticated even where only keys are accepted, so that the caller can refuse it with a 403. If a request has both, the key
 * takes precedence, except where only tokens are accepted. `header` replaces the headers of the request.
 */
export const createAuthenticator = (options: Options) => {
  const { rootApiKey, previousRootApiKey, platform, keys, onUse, verify, addressOf, countFailure } = options
  const platformKeys = [rootApiKey, previousRootApiKey]
    .filter((each) => each !== undefined)
    .map((each) => ({ digest: digest(each), principal: { ...platform, platformKeyId: options.platformKeyIdOf(each) } }))
  const refusal = (c: HonoContext, detail: string, challenge: string): Problem => {
    countFailure(addressOf(c))
    return new Problem('unauthenticated', detail, { headers: { 'www-authenticate': challenge } })
  }
  const authenticateKey = async (c: HonoContext, apiKey: string): Promise<Principal> => {
    const principal = await keys.lookup(apiKey)
    // A key outside of its networks is refused like an unknown one, so that a thief does not learn that it is valid.
    if (principal !== undefined && isAllowedFrom(principal, addressOf(c))) {
      onUse?.(principal.id)
      return principal
    }
    const given = digest(apiKey)
    // All comparisons run in constant time, so that the timing reveals nothing about the platform keys.
    const [matching] = platformKeys.filter((each) => timingSafeEqual(given, each.digest))
    if (matching !== undefined) return matching.principal
    throw refusal(c, 'The API key in the header x-api-key is invalid.', 'ApiKey')
  }
  // Counted like a failure: each attempt may cause a fetch of the issuer's keys.
  const countUnavailable = (c: HonoContext) => (error: unknown) => {
    if (error instanceof Problem) countFailure(addressOf(c))
    throw error
  }
  const authenticateToken = async (c: HonoContext, authorization: string): Promise<Principal> => {
    const [, token] = /^Bearer +([\w.~+/-]+=*)$/i.exec(authorization) ?? []
    const principal = token === undefined ? undefined : await verify(token).catch(countUnavailable(c))
    if (principal !== undefined) return principal
    throw refusal(c, 'The Bearer token in the header Authorization is invalid.', 'Bearer error="invalid_token"')
  }
  return async (c: HonoContext, accepted: Credential, header = headerFor(c, accepted)): Promise<Principal> => {
    if (accepted === 'none') return anonymous(addressOf(c))
    const [name, value = ''] = header ?? []
    if (name === 'x-api-key') return authenticateKey(c, value)
    if (name === 'authorization') return authenticateToken(c, value)
    const [detail, challenge] = missing[accepted]
    throw refusal(c, detail, challenge)
  }
}

const headerFor = (c: HonoContext, accepted: Credential): CredentialHeader | undefined => {
  const token = c.req.header('authorization')
  if (accepted !== 'token') return credentialHeaderOf(c)
  return token === undefined ? undefined : ['authorization', token]
}

const isAllowedFrom = ({ allowedNetworks }: Principal, address: string): boolean =>
  allowedNetworks === undefined || isInNetworks(toBlockList(allowedNetworks), address)
