import { sql } from 'drizzle-orm'
import type { KeyUsage } from '#api/platform/auth/keyUsage.ts'
import type { Database } from '#api/platform/database/client.ts'

/**
 * Writes `lastUsedAt` of used keys, at most once per minute and key across all replicas. Keys whose rows are locked, and all keys
 * after an error, are noted again for the next call.
 */
export const writeKeyUsage = async (db: Database, usage: KeyUsage, nowMs: number): Promise<void> => {
  const ids = usage.take()
  if (ids.length === 0) return
  const now = new Date(nowMs).toISOString()
  try {
    // Waiting for the locks of several rows could deadlock.
    const { rows } = await db.execute<{ id: string }>(sql`
      with due as materialized (
        select id from api_keys where id = any(${sql.param(ids)}::text[])
          and (last_used_at is null or last_used_at <= ${now}::timestamptz - interval '1 minute')
      ),
      locked as materialized (
        select id from api_keys where id in (select id from due) for no key update skip locked
      ),
      written as (
        update api_keys set last_used_at = ${now}::timestamptz from locked where api_keys.id = locked.id
        returning api_keys.id
      )
      select id from due where id not in (select id from written)`)
    for (const { id } of rows) usage.note(id)
  } catch (error) {
    for (const id of ids) usage.note(id)
    throw error
  }
}
