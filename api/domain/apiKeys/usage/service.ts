import { sql } from 'drizzle-orm'
import type { KeyUsage } from '#api/platform/auth/keyUsage.ts'
import type { Database } from '#api/platform/database/client.ts'

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
