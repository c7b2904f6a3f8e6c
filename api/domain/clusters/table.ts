import { index, integer, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { instant } from '#api/platform/database/columns.ts'
import { kindList } from '#shared/resources/group.ts'

/** The clusters that the API serves. */
export const clusters = pgTable('clusters', {
  name: text().primaryKey(),
  /** Grows by one with each replica that begins to pull. Transactions of an earlier term are refused. */
  pullTerm: integer().notNull(),
})

/** The reasons why a cluster is refused. */
export const clusterRefusals = ['AnotherCluster', 'RestoredCluster'] as const

/** The identity of each cluster: the one that was accepted, and the one that was last seen. */
export const clusterStates = pgTable('cluster_states', {
  name: text().primaryKey(),
  /** The uid of the namespace kube-system of the accepted cluster. */
  uid: text().notNull(),
  /** The highest resourceVersion that the accepted cluster has shown. A lower one means that it was restored; '' if unknown. */
  version: text().notNull(),
  /** The reason why the cluster that was last seen is refused, or null if it is accepted. */
  refusal: text({ enum: clusterRefusals }),
  /** The uid of a refused cluster, or null. */
  refusedUid: text(),
  refusedAt: instant(),
})
export type ClusterStateRow = typeof clusterStates.$inferSelect

/**
 * The uids of namespaces and definitions when their resources were last complete, or an empty one once they were found
 * missing or terminating. A different uid explains missing resources.
 */
export const clusterContainers = pgTable(
  'cluster_containers',
  { cluster: text().notNull(), name: text().notNull(), uid: text().notNull() },
  (table) => [primaryKey({ columns: [table.cluster, table.name] })],
)

/** The sweeps that found more missing resources than they may recreate. Each waits for acceptance. */
export const heldSweeps = pgTable(
  'held_sweeps',
  {
    cluster: text().notNull(),
    kind: text({ enum: kindList }).notNull(),
    /** The number of missing resources. */
    missing: integer().notNull(),
    /** The number of rows with a resource. */
    total: integer().notNull(),
    /** The ids of some of the rows. */
    examples: jsonb().$type<readonly string[]>().notNull(),
    heldAt: instant().notNull(),
    /** The number of missing resources that were accepted. */
    accepted: integer().notNull().default(0),
  },
  (table) => [primaryKey({ columns: [table.cluster, table.kind] })],
)

/** The differences between rows and resources that only a person can resolve. */
export const findingTypes = ['Frozen', 'Orphan', 'Stranger'] as const

/** The resources that pull cannot match with a row. */
export const syncFindings = pgTable(
  'sync_findings',
  {
    /** Derived from the uid of the resource. */
    id: text().primaryKey(),
    cluster: text().notNull(),
    type: text({ enum: findingTypes }).notNull(),
    kind: text({ enum: kindList }).notNull(),
    namespace: text().notNull(),
    name: text().notNull(),
    uid: text().notNull(),
    message: text().notNull(),
    createdAt: instant().notNull(),
  },
  (table) => [index().on(table.cluster, table.type, table.createdAt, table.id)],
)
export type FindingRow = typeof syncFindings.$inferSelect
