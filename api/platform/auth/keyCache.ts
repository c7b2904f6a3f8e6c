import { fingerprintOf, isApiKey } from '#api/platform/secrets/apiKey.ts'
import type { Clock } from '#shared/clock.ts'
import type { Principal } from './principal.ts'

/** How old an answer of the table may be. A revoked key fails within a second everywhere, and this leaves a margin. */
const freshMs = 500
const maxEntries = 10_000

type Entry = { readonly atMs: number; readonly found: Promise<Principal | undefined> }
type Options = {
  readonly clock: Clock
  readonly pepper: string
  readonly find: (fingerprint: string) => Promise<Principal | undefined>
}

/** Who keys belong to, as the table said at most half a second ago. */
export type KeyCache = ReturnType<typeof createKeyCache>

/**
 * Remembers look-ups of keys, unknown ones too, each for half a second: under load a key costs two fingerprints and
 * queries a second instead of one a request, and no replica needs to be told of a change. A text that is no key is
 * neither looked up nor remembered.
 */
export const createKeyCache = ({ clock, pepper, find }: Options) => {
  const entries = new Map<string, Entry>()
  const isFresh = ({ atMs }: Entry): boolean => clock.monotonic() - atMs < freshMs
  const makeRoom = (): void => {
    for (const [apiKey, entry] of entries) {
      // They stand in the order of their age. Keys are secrets: none stays here for longer than it is of use.
      if (isFresh(entry) && entries.size < maxEntries) return
      entries.delete(apiKey)
    }
  }
  return {
    lookup: async (apiKey: string): Promise<Principal | undefined> => {
      const known = entries.get(apiKey)
      if (known !== undefined && isFresh(known)) return known.found
      makeRoom()
      if (!isApiKey(apiKey)) return undefined
      const found = find(fingerprintOf(apiKey, pepper))
      entries.set(apiKey, { atMs: clock.monotonic(), found })
      // What could not be asked is asked again by the next request.
      found.catch(() => entries.delete(apiKey))
      return found
    },
    /** Forgets everything, so that who changed a key sees the change in this replica's next answer. */
    clear: (): void => entries.clear(),
  }
}
