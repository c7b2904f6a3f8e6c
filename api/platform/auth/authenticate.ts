import { createHash, timingSafeEqual } from 'node:crypto'
import type { Context as HonoContext } from 'hono'
import { clientAddress, isInNetworks } from '#api/platform/http/clientAddress.ts'
import { Problem } from '#api/platform/http/problem.ts'
import type { KeyCache } from './keyCache.ts'
import { anonymous, type Principal } from './principal.ts'

/** The kinds of credential that an endpoint accepts. */
export type Credential = 'none' | 'key' | 'token' | 'keyOrToken'

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

type Options = {
  rootApiKey: string
  /** The principal of the platform keys. */
  platform: Principal
  /** A second platform key, valid while the first is introduced. */
  previousRootApiKey?: string | undefined
  /** Called with the id of each key that authenticated a request. */
  onUse?: (apiKeyId: string) => void
  keys: KeyCache
  verify: (token: string) => Promise<Principal | undefined>
}

/** Tells who makes a request, by what the endpoint accepts; throws a 401 where that is missing or not valid. */
export const createAuthenticator = ({ rootApiKey, previousRootApiKey, platform, onUse, keys, verify }: Options) => {
  const platformKeys = [rootApiKey, previousRootApiKey].filter((each) => each !== undefined).map(digest)
  const ofKey = async (apiKey: string, address: string): Promise<Principal> => {
    const found = await keys.lookup(apiKey)
    // A key outside of its networks is refused like an unknown one, so that a thief does not learn that it is valid.
    if (found !== undefined && (!found.allowedNetworks || isInNetworks(address, found.allowedNetworks))) {
      onUse?.(found.id)
      return found
    }
    const given = digest(apiKey)
    // Every comparison is made, each in a time that does not depend on how much of the key is right.
    if (platformKeys.filter((each) => timingSafeEqual(given, each)).length > 0) return platform
    throw unauthenticated('The API key in the header x-api-key is not valid.', 'ApiKey')
  }
  const ofToken = async (authorization: string): Promise<Principal> => {
    const [, token] = /^Bearer +([\w.~+/-]+=*)$/i.exec(authorization) ?? []
    const found = token === undefined ? undefined : await verify(token)
    if (found !== undefined) return found
    throw unauthenticated('The Bearer token in the header Authorization is not valid.', 'Bearer error="invalid_token"')
  }
  return async (c: HonoContext, accepted: Credential): Promise<Principal> => {
    if (accepted === 'none') return anonymous(clientAddress(c))
    const apiKey = accepted === 'token' ? undefined : c.req.header('x-api-key')
    if (apiKey !== undefined) return ofKey(apiKey, clientAddress(c))
    const authorization = accepted === 'key' ? undefined : c.req.header('authorization')
    if (authorization !== undefined) return ofToken(authorization)
    throw accepted === 'token'
      ? unauthenticated('Give a token as Authorization: Bearer <token>.', 'Bearer')
      : unauthenticated('Give an API key in the header x-api-key.', 'ApiKey')
  }
}

const unauthenticated = (detail: string, challenge: string): Problem =>
  new Problem('unauthenticated', detail, { headers: { 'www-authenticate': challenge } })
