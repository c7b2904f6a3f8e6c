import { fingerprintOf, isApiKey } from '#api/platform/secrets/apiKey.ts'
import type { Clock } from '#shared/clock.ts'
import { createFreshCache, type Found } from './freshCache.ts'
import type { Principal } from './principal.ts'

type Options = {
  readonly clock: Clock
  /** The current pepper first. Look-ups try every pepper. */
  readonly peppers: readonly string[]
  readonly find: (fingerprints: readonly string[]) => Promise<Found>
}

/** A cache of the principals of API keys, at most half a second old. */
export type KeyCache = ReturnType<typeof createKeyCache>

/** Caches look-ups of keys by their strings. Text that cannot be a key is neither looked up nor cached. */
export const createKeyCache = ({ clock, peppers, find }: Options) => {
  const cache = createFreshCache({
    clock,
    load: (apiKey) => find(peppers.map((pepper) => fingerprintOf(apiKey, pepper))),
  })
  return {
    lookup: async (apiKey: string): Promise<Principal | undefined> =>
      isApiKey(apiKey) ? cache.lookup(apiKey) : undefined,
    /** Drops one key, so that the next request of this replica sees its change. Other keys stay cached. */
    forget: cache.forget,
  }
}
