import { sql } from 'drizzle-orm'
import { customType, index, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import { instant } from '#api/platform/database/columns.ts'
import type { PartitionedTable } from '#api/platform/database/partitions/plan.ts'

/** A 64-bit transaction id, which does not wrap around, represented as text. */
const xid8 = customType<{ data: string }>({ dataType: () => 'xid8' })

/**
 * The change records that replicas deliver to their subscribers. Triggers of `documents`, `worlds` and `api_keys` write
 * them in the transaction of the change, so no writer can omit one and a rollback removes it. Readers select by `xid`.
 * `data` is null if the content must be read from the row, because it is large or composed of several columns.
 *
 * The table is partitioned by time and its partitions are unlogged. A crash of Postgres empties them, but it also ends
 * the session of every reader, and a reader that reconnects reads all its topics again.
 */
export const realtimeChanges = pgTable(
  'realtime_changes',
  {
    xid: xid8().notNull().default(sql`pg_current_xact_id()`),
    at: instant().notNull().default(sql`clock_timestamp()`),
    organizationId: text().notNull(),
    projectId: text().notNull(),
    worldId: text().notNull(),
    type: text({ enum: ['kvStore', 'collection', 'liveConfig', 'world', 'worldCounts', 'apiKey'] }).notNull(),
    id: text().notNull(),
    version: instant().notNull(),
    userId: text().notNull(),
    data: jsonb().$type<Record<string, unknown>>(),
  },
  (table) => [index().on(table.xid)],
)

const quarterMs = 15 * 60_000

/** The partitions of the change records. Readers never look back further than one minute. */
export const changePartitions: PartitionedTable = {
  name: 'realtime_changes',
  column: 'at',
  partitionMs: quarterMs,
  retentionMs: quarterMs,
  isUnlogged: true,
}
