import type { Clock } from '#shared/clock.ts'
import { createFreshCache } from './freshCache.ts'
import { credentialIds, type IssuedToken, type Principal } from './principal.ts'

type Options = {
  readonly clock: Clock
  readonly read: (principals: readonly Principal[]) => Promise<(Principal | undefined)[]>
}

/** A cache of the state of tokens of the built-in issuer, at most half a second old. */
export type TokenCache = ReturnType<typeof createTokenCache>

/** Confirms tokens whose signature was verified: the key that minted a token and the token itself must still be valid. */
export const createTokenCache = ({ clock, read }: Options) => {
  const cache = createFreshCache({
    clock,
    load: async (name) => {
      const asked = JSON.parse(name) as Principal & { token: IssuedToken }
      const [principal] = await read([asked])
      return { ids: credentialIds(asked), principal }
    },
  })
  return {
    confirm: (principal: Principal): Promise<Principal | undefined> => cache.lookup(JSON.stringify(principal)),
    /** Drops the tokens that a change of a key, a token or a signing key concerns. */
    forget: cache.forget,
  }
}
