import { sql } from 'drizzle-orm'
import { type AnyPgColumn, timestamp } from 'drizzle-orm/pg-core'

/** A timestamp column with millisecond precision, as in the API. */
export const instant = () => timestamp({ withTimezone: true, precision: 3 })

/** Returns the columns that count the rows that are not deleted, and the deleted ones that can still be restored. */
export const countPresentAndKept = ({ deletingAt, purgeAt }: Record<'deletingAt' | 'purgeAt', AnyPgColumn>) => ({
  present: sql<number>`(count(*) filter (where ${deletingAt} is null))::int`,
  kept: sql<number>`(count(*) filter (where ${deletingAt} is not null and ${purgeAt} > now()))::int`,
})
