import { sql } from 'drizzle-orm'
import type { Database } from '#api/platform/database/client.ts'

/** At most this many keys are remembered between two writes; later ones are noted at their next use. */
const maxNoted = 10_000

/** Collects the use of keys between two writes. */
export type KeyUsage = ReturnType<typeof createKeyUsage>

/** Notes which keys are used, so that no request waits for a write. */
export const createKeyUsage = () => {
  let noted = new Set<string>()
  return {
    note: (apiKeyId: string): void => {
      if (noted.size < maxNoted) noted.add(apiKeyId)
    },
    /** Returns the keys that were used since the last call. */
    take: (): string[] => {
      const ids = [...noted]
      noted = new Set()
      return ids
    },
  }
}

/** Writes `lastUsedAt` of the keys that were used, at most once a minute each, whatever the number of replicas. */
export const writeKeyUsage = async (db: Database, usage: KeyUsage, nowMs: number): Promise<void> => {
  const ids = usage.take()
  if (ids.length === 0) return
  const now = new Date(nowMs).toISOString()
  // A row that another replica or a change of the key holds is left for the next time, so that nobody waits.
  await db.execute(sql`
    update api_keys set last_used_at = ${now}::timestamptz where id in (
      select id from api_keys where id = any(${sql.param(ids)}::text[])
        and (last_used_at is null or last_used_at <= ${now}::timestamptz - interval '1 minute')
      for no key update skip locked)`)
}
