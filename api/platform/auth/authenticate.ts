import { createHash, timingSafeEqual } from 'node:crypto'
import { getConnInfo } from '@hono/node-server/conninfo'
import type { Context as HonoContext } from 'hono'
import { Problem } from '#api/platform/http/problem.ts'
import type { KeyCache } from './keyCache.ts'
import { anonymous, type Principal } from './principal.ts'

/** The kinds of credential that an endpoint accepts. */
export type Credential = 'none' | 'key' | 'token' | 'keyOrToken'

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

type Options = {
  rootApiKey: string
  /** The principal of the root API key. */
  platform: Principal
  keys: KeyCache
  verify: (token: string) => Promise<Principal | undefined>
}

/** Tells who makes a request, by what the endpoint accepts; throws a 401 where that is missing or not valid. */
export const createAuthenticator = ({ rootApiKey, platform, keys, verify }: Options) => {
  const root = digest(rootApiKey)
  const ofKey = async (apiKey: string): Promise<Principal> => {
    const found = await keys.lookup(apiKey)
    if (found !== undefined) return found
    // The time of this comparison does not depend on how much of the key is right.
    if (timingSafeEqual(digest(apiKey), root)) return platform
    throw unauthenticated('The API key in the header x-api-key is not valid.', 'ApiKey')
  }
  const ofToken = async (authorization: string): Promise<Principal> => {
    const [, token] = /^Bearer +([\w.~+/-]+=*)$/i.exec(authorization) ?? []
    const found = token === undefined ? undefined : await verify(token)
    if (found !== undefined) return found
    throw unauthenticated('The Bearer token in the header Authorization is not valid.', 'Bearer error="invalid_token"')
  }
  return async (c: HonoContext, accepted: Credential): Promise<Principal> => {
    if (accepted === 'none') return anonymous(addressOf(c))
    const apiKey = accepted === 'token' ? undefined : c.req.header('x-api-key')
    if (apiKey !== undefined) return ofKey(apiKey)
    const authorization = accepted === 'key' ? undefined : c.req.header('authorization')
    if (authorization !== undefined) return ofToken(authorization)
    throw accepted === 'token'
      ? unauthenticated('Give a token as Authorization: Bearer <token>.', 'Bearer')
      : unauthenticated('Give an API key in the header x-api-key.', 'ApiKey')
  }
}

/** The other end of the connection; there is none where the application is called without a server. */
const addressOf = (c: HonoContext): string => {
  try {
    return getConnInfo(c).remote.address ?? ''
  } catch {
    return ''
  }
}

const unauthenticated = (detail: string, challenge: string): Problem =>
  new Problem('unauthenticated', detail, { headers: { 'www-authenticate': challenge } })
