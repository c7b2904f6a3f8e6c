import { createHash, timingSafeEqual } from 'node:crypto'
import type { Context as HonoContext } from 'hono'
import { isInNetworks } from '#api/platform/http/clientAddress.ts'
import { toBlockList } from '#api/platform/http/networks.ts'
import { Problem } from '#api/platform/http/problem.ts'
import type { KeyCache } from './keyCache.ts'
import { anonymous, type Principal } from './principal.ts'

/** The kinds of credential that an endpoint accepts. */
export type Credential = 'none' | 'key' | 'token' | 'keyOrToken'

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

type Options = {
  rootApiKey: string
  /** A second platform key, valid while the first is introduced. */
  previousRootApiKey?: string | undefined
  /** The principal of the platform keys. */
  platform: Principal
  keys: KeyCache
  /** Called with the id of each key that authenticated a request. */
  onUse?: (apiKeyId: string) => void
  verify: (token: string) => Promise<Principal | undefined>
  /** The address of the client of a request. */
  addressOf: (c: HonoContext) => string
  /** Counts a failed credential; throws a 429 for one too many from an address. */
  countFailure: (address: string) => void
}

/** Tells who makes a request, by what the endpoint accepts; throws a 401 where that is missing or not valid. */
export const createAuthenticator = (options: Options) => {
  const { rootApiKey, previousRootApiKey, platform, keys, onUse, verify, addressOf, countFailure } = options
  const platformKeys = [rootApiKey, previousRootApiKey].filter((each) => each !== undefined).map(digest)
  const refusal = (c: HonoContext, detail: string, challenge: string): Problem => {
    countFailure(addressOf(c))
    return new Problem('unauthenticated', detail, { headers: { 'www-authenticate': challenge } })
  }
  const ofKey = async (c: HonoContext, apiKey: string): Promise<Principal> => {
    const found = await keys.lookup(apiKey)
    // A key outside of its networks is refused like an unknown one, so that a thief does not learn that it is valid.
    if (found !== undefined && isAllowedFrom(found, addressOf(c))) {
      onUse?.(found.id)
      return found
    }
    const given = digest(apiKey)
    // Every comparison is made, each in a time that does not depend on how much of the key is right.
    if (platformKeys.filter((each) => timingSafeEqual(given, each)).length > 0) return platform
    throw refusal(c, 'The API key in the header x-api-key is not valid.', 'ApiKey')
  }
  const ofToken = async (c: HonoContext, authorization: string): Promise<Principal> => {
    const [, token] = /^Bearer +([\w.~+/-]+=*)$/i.exec(authorization) ?? []
    const found = token === undefined ? undefined : await verify(token)
    if (found !== undefined) return found
    throw refusal(c, 'The Bearer token in the header Authorization is not valid.', 'Bearer error="invalid_token"')
  }
  return async (c: HonoContext, accepted: Credential): Promise<Principal> => {
    if (accepted === 'none') return anonymous(addressOf(c))
    const apiKey = accepted === 'token' ? undefined : c.req.header('x-api-key')
    if (apiKey !== undefined) return ofKey(c, apiKey)
    const authorization = accepted === 'key' ? undefined : c.req.header('authorization')
    if (authorization !== undefined) return ofToken(c, authorization)
    throw accepted === 'token'
      ? refusal(c, 'Give a token as Authorization: Bearer <token>.', 'Bearer')
      : refusal(c, 'Give an API key in the header x-api-key.', 'ApiKey')
  }
}

const isAllowedFrom = ({ allowedNetworks }: Principal, address: string): boolean =>
  allowedNetworks === undefined || isInNetworks(toBlockList(allowedNetworks), address)
