import { createHash, timingSafeEqual } from 'node:crypto'
import { Problem } from '#api/errors.ts'

/** Who makes a request: a key, by its id, with what it may do. */
export type Principal = {
  readonly id: string
  readonly permissions: readonly string[]
  readonly claims: readonly string[]
}

const platform: Principal = { id: 'platform', permissions: ['*'], claims: ['createOrganization', 'largeWorlds'] }

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Tells whose key it is, in a time that does not depend on how much of it is right; throws a 401 for all others. */
export const createAuthenticator = (rootApiKey: string) => {
  const root = digest(rootApiKey)
  return (apiKey: string | undefined): Principal => {
    if (apiKey === undefined) throw unauthenticated('Give an API key in the header x-api-key.')
    if (timingSafeEqual(digest(apiKey), root)) return platform
    throw unauthenticated('The API key in the header x-api-key is not valid.')
  }
}

const unauthenticated = (detail: string): Problem =>
  new Problem('unauthenticated', detail, { headers: { 'www-authenticate': 'ApiKey' } })
