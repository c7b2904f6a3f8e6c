import { sql } from 'drizzle-orm'
import { bigint, index, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { instant } from '#api/platform/database/columns.ts'
import { kindList } from '#shared/resources/group.ts'

/**
 * The dirty set: one mark for each row with changes to push. It is a set rather than a log, so no change can be skipped, and
 * several changes of one row need one push.
 */
export const clusterOutbox = pgTable(
  'cluster_outbox',
  {
    kind: text({ enum: [...kindList, 'organization'] }).notNull(),
    id: text().notNull(),
    revision: bigint({ mode: 'number' }).notNull(),
    nextAt: instant().notNull(),
    /** The end of the claim's lease, or null without a claim. */
    leaseUntil: instant(),
    /** Incremented with each mark, so that a push detects marks that were set while it was in progress. */
    epoch: integer().notNull().default(1),
    attempts: integer().notNull().default(0),
    /**
     * The cluster to which the row is pushed, or ''. A trigger sets it from the row, or from the end of the id of a mark
     * of an organization.
     */
    cluster: text().notNull().default(''),
    /** The organization of the row, or ''. The trigger that sets `cluster` sets it too. Organizations take turns. */
    organizationId: text().notNull().default(''),
    /** The time since which the row has been dirty without a break. */
    markedAt: instant().notNull().default(sql`now()`),
    /** The trace of the last request that changed the row, if it is traced: a `traceparent` of W3C Trace Context. */
    traceparent: text(),
  },
  (table) => [
    primaryKey({ columns: [table.id, table.kind] }),
    index().on(table.cluster, table.organizationId, table.nextAt),
  ],
)
