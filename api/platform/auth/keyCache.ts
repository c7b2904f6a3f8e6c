import { fingerprintOf, isApiKey } from '#api/platform/secrets/apiKey.ts'
import type { Clock } from '#shared/clock.ts'
import type { Principal } from './principal.ts'

/** The maximum age of an answer. A revoked key must fail within a second on every replica; this leaves a margin. */
const freshMs = 500
const maxEntries = 10_000

/** A key in the table; without a principal it is inactive. */
export type FoundKey = { readonly id: string; readonly principal: Principal | undefined }

type Entry = { readonly atMs: number; readonly found: Promise<FoundKey | undefined>; id: string | undefined }
type Options = {
  readonly clock: Clock
  readonly pepper: string
  readonly find: (fingerprint: string) => Promise<FoundKey | undefined>
}

/** A cache of the principals of API keys, at most half a second old. */
export type KeyCache = ReturnType<typeof createKeyCache>

/**
 * Caches look-ups of keys for half a second, failed ones too. Under load a key costs two queries a second instead of one
 * a request. Text that cannot be a key is neither looked up nor cached.
 */
export const createKeyCache = ({ clock, pepper, find }: Options) => {
  const entries = new Map<string, Entry>()
  const isFresh = ({ atMs }: Entry): boolean => clock.monotonic() - atMs < freshMs
  const makeRoom = (): void => {
    for (const [apiKey, entry] of entries) {
      // Entries are in the order of their age. Keys are secrets, so stale ones do not stay in memory.
      if (isFresh(entry) && entries.size < maxEntries) return
      entries.delete(apiKey)
    }
  }
  const load = async (apiKey: string): Promise<Principal | undefined> => {
    const found = find(fingerprintOf(apiKey, pepper))
    const entry: Entry = { atMs: clock.monotonic(), found, id: undefined }
    entries.set(apiKey, entry)
    try {
      const key = await found
      entry.id = key?.id ?? ''
      return key?.principal
    } catch (error) {
      // A failed query is repeated by the next request.
      if (entries.get(apiKey) === entry) entries.delete(apiKey)
      throw error
    }
  }
  return {
    lookup: async (apiKey: string): Promise<Principal | undefined> => {
      const known = entries.get(apiKey)
      if (known !== undefined && isFresh(known)) return (await known.found)?.principal
      makeRoom()
      return isApiKey(apiKey) ? load(apiKey) : undefined
    },
    /** Drops one key, so that the next request of this replica sees its change. Other keys stay cached. */
    forget: (id: string): void => {
      for (const [apiKey, entry] of entries) {
        // A look-up that is still running may have read the key before the change.
        if (entry.id === undefined || entry.id === id) entries.delete(apiKey)
      }
    },
  }
}
