import { sql } from 'drizzle-orm'
import { customType, index, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import { instant } from '#api/platform/database/columns.ts'

/** A transaction id that does not wrap around; read and written as text. */
const xid8 = customType<{ data: string }>({ dataType: () => 'xid8' })

/**
 * What changed, for the replicas that tell it on: written by triggers of `documents`, `worlds` and `api_keys` in the
 * transaction of whoever changes a row, so that no writer can forget it and no rollback leaves one behind. `xid` is
 * what readers go by. `data` is null where the row itself is to be read: it is large, or is shown by more than itself.
 *
 * The table is partitioned by time, and its partitions are unlogged: a crash of Postgres empties them, and it also cuts
 * the connection of every reader, which begins anew by reading what is followed.
 */
export const realtimeChanges = pgTable(
  'realtime_changes',
  {
    xid: xid8().notNull().default(sql`pg_current_xact_id()`),
    at: instant().notNull().default(sql`clock_timestamp()`),
    organizationId: text().notNull(),
    projectId: text().notNull(),
    worldId: text().notNull(),
    type: text({ enum: ['kvStore', 'collection', 'liveConfig', 'world', 'apiKey'] }).notNull(),
    id: text().notNull(),
    version: instant().notNull(),
    userId: text().notNull(),
    data: jsonb().$type<Record<string, unknown>>(),
  },
  (table) => [index().on(table.xid)],
)
