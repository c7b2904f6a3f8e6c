import { sql } from 'drizzle-orm'
import type { KeyUsage } from '#api/platform/auth/keyUsage.ts'
import type { Database } from '#api/platform/database/client.ts'

/** Writes `lastUsedAt` of used keys, at most once per minute and key across all replicas. */
export const writeKeyUsage = async (db: Database, usage: KeyUsage, nowMs: number): Promise<void> => {
  const ids = usage.take()
  if (ids.length === 0) return
  const now = new Date(nowMs).toISOString()
  // A locked row is skipped and written at the key's next use.
  await db.execute(sql`
    update api_keys set last_used_at = ${now}::timestamptz where id in (
      select id from api_keys where id = any(${sql.param(ids)}::text[])
        and (last_used_at is null or last_used_at <= ${now}::timestamptz - interval '1 minute')
      for no key update skip locked)`)
}
