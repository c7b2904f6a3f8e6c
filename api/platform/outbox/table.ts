import { index, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { instant } from '#api/platform/database/columns.ts'

/**
 * The dirty set: one row for each thing whose resource is not as its row wants. It is a set and not a log, so a reader
 * can skip nothing and many changes of one thing are one push.
 */
export const clusterOutbox = pgTable(
  'cluster_outbox',
  {
    kind: text({ enum: ['world', 'bot'] }).notNull(),
    id: text().notNull(),
    revision: integer().notNull(),
    nextAt: instant().notNull(),
    /** Until when a claim keeps others away; null where there is none. */
    leaseUntil: instant(),
    /** Rises with each mark, so that a push can tell whether something came while it was under way. */
    epoch: integer().notNull().default(1),
    attempts: integer().notNull().default(0),
  },
  (table) => [primaryKey({ columns: [table.kind, table.id] }), index().on(table.nextAt)],
)
