import type { Clock } from '#shared/clock.ts'
import type { Principal } from './principal.ts'

/** The maximum age of an answer. A revoked credential must fail within a second on every replica; this leaves a margin. */
const freshMs = 500
const maxEntries = 10_000

/** The result of a look-up: the ids whose changes concern it, and the principal, if the credential is valid. */
export type Found = { readonly ids: readonly string[]; readonly principal: Principal | undefined }

type Entry = { readonly atMs: number; readonly found: Promise<Found>; ids: readonly string[] | undefined }

/**
 * Caches look-ups of credentials for half a second, including those without a result. Under load a credential costs two
 * queries per second instead of one per request. A credential that expires while cached has no principal.
 */
export const createFreshCache = ({ clock, load }: { clock: Clock; load: (name: string) => Promise<Found> }) => {
  const entries = new Map<string, Entry>()
  const isFresh = ({ atMs }: Entry): boolean => clock.monotonic() - atMs < freshMs
  const makeRoom = (): void => {
    for (const [name, entry] of entries) {
      // Entries are in the order of their age. Names are secrets, so stale ones do not stay in memory.
      if (isFresh(entry) && entries.size < maxEntries) return
      entries.delete(name)
    }
  }
  const add = async (name: string): Promise<Found> => {
    makeRoom()
    const entry: Entry = { atMs: clock.monotonic(), found: load(name), ids: undefined }
    entries.set(name, entry)
    try {
      const found = await entry.found
      entry.ids = found.ids
      return found
    } catch (error) {
      // A failed query is repeated by the next request.
      if (entries.get(name) === entry) entries.delete(name)
      throw error
    }
  }
  return {
    lookup: async (name: string): Promise<Principal | undefined> => {
      const cached = entries.get(name)
      const { principal } = await (cached !== undefined && isFresh(cached) ? cached.found : add(name))
      return principal?.expiresAtMs !== undefined && principal.expiresAtMs <= clock.now() ? undefined : principal
    },
    /** Drops the entries that depend on an id, so that the next request of this replica sees its change. */
    forget: (id: string): void => {
      for (const [name, { ids }] of entries) {
        // A look-up that is still running may have read the state before the change.
        if (ids === undefined || ids.includes(id)) entries.delete(name)
      }
    },
  }
}
