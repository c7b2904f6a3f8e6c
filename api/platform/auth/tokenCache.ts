import type { Clock } from '#shared/clock.ts'
import { createFreshCache } from './freshCache.ts'
import { credentialIds, type IssuedToken, type Principal } from './principal.ts'

type Options = {
  readonly clock: Clock
  readonly read: (principals: readonly Principal[]) => Promise<(Principal | undefined)[]>
}

/** A cache of the state of tokens of the built-in issuer, at most half a second old. */
export type TokenCache = ReturnType<typeof createTokenCache>

/** Confirms tokens with a verified signature: neither the token nor the keys that minted and signed it may be revoked. */
export const createTokenCache = ({ clock, read }: Options) => {
  const cache = createFreshCache({
    clock,
    load: async (name) => {
      const cached = JSON.parse(name) as Principal & { token: IssuedToken }
      const [principal] = await read([cached])
      return { ids: credentialIds(cached), principal }
    },
  })
  return {
    confirm: (principal: Principal): Promise<Principal | undefined> => cache.lookup(JSON.stringify(principal)),
    /** Drops the tokens that depend on an API key, a token or a signing key. */
    forget: cache.forget,
  }
}
