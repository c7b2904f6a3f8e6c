import type { Clock } from '#shared/clock.ts'
import type { Principal } from './principal.ts'

/** How old an answer of the table may be. A revoked key fails within a second everywhere, and this leaves a margin. */
const freshMs = 500
const maxEntries = 10_000

type Entry = { readonly atMs: number; readonly found: Promise<Principal | undefined> }

/** Who keys belong to, as the table said at most half a second ago. */
export type KeyCache = ReturnType<typeof createKeyCache>

/**
 * Remembers look-ups of keys by their fingerprint, unknown ones too, each for half a second: under load a key costs two
 * queries a second instead of one a request, and no replica needs to be told of a change.
 */
export const createKeyCache = (clock: Clock, find: (fingerprint: string) => Promise<Principal | undefined>) => {
  const entries = new Map<string, Entry>()
  return {
    lookup: (fingerprint: string): Promise<Principal | undefined> => {
      const nowMs = clock.monotonic()
      const known = entries.get(fingerprint)
      if (known !== undefined && nowMs - known.atMs < freshMs) return known.found
      entries.delete(fingerprint)
      if (entries.size >= maxEntries) entries.delete(entries.keys().next().value ?? '')
      const found = find(fingerprint)
      entries.set(fingerprint, { atMs: nowMs, found })
      // What could not be asked is asked again by the next request.
      found.catch(() => entries.delete(fingerprint))
      return found
    },
    /** Forgets everything, so that who changed a key sees the change in this replica's next answer. */
    clear: (): void => entries.clear(),
  }
}
