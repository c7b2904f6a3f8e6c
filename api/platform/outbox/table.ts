import { index, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { instant } from '#api/platform/database/columns.ts'

/**
 * The dirty set: one mark for each row with changes to push. It is a set rather than a log, so no change can be skipped, and
 * several changes of one row need one push.
 */
export const clusterOutbox = pgTable(
  'cluster_outbox',
  {
    kind: text({ enum: ['world', 'bot'] }).notNull(),
    id: text().notNull(),
    revision: integer().notNull(),
    nextAt: instant().notNull(),
    /** The end of the claim's lease, or null without a claim. */
    leaseUntil: instant(),
    /** Incremented with each mark, so that a push detects marks that were set while it was in progress. */
    epoch: integer().notNull().default(1),
    attempts: integer().notNull().default(0),
  },
  (table) => [primaryKey({ columns: [table.kind, table.id] }), index().on(table.nextAt)],
)
