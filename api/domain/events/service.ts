import { type AnyColumn, and, type SQL, sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import { newestFirst } from '#api/platform/database/page.ts'

/** The number of events that a world or a bot deployment keeps. */
export const maxEvents = 100

/** Returns the condition for the events of one owner that are older than its newest `maxEvents`. */
export const whereSuperseded = (
  table: PgTable & { id: AnyColumn; createdAt: AnyColumn },
  ofOwner: SQL,
): SQL | undefined =>
  and(
    ofOwner,
    sql`${table.id} in (select id from ${table} where ${ofOwner} order by ${sql.join(newestFirst(table), sql`, `)} offset ${maxEvents})`,
  )
