import { index, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import { instant } from '#api/platform/database/columns.ts'

/**
 * The origins of changes: the REST API, an edit with kubectl, the command `orrery`, or the system: a schedule or the end of a transient
 * world.
 */
export const auditDoors = ['rest', 'kubectl', 'cli', 'system'] as const

/** The kinds of actor. `manager` is the field manager of an edit with kubectl, `command` a command of `orrery`. */
export const auditActors = ['platform', 'key', 'user', 'manager', 'command', 'system'] as const

/**
 * The audit records: who changed what, and who read key strings. The API's database role may insert and read them, and
 * not change them. The table is partitioned by time (`auditPartitions`).
 */
export const auditRecords = pgTable(
  'audit_records',
  {
    id: text().notNull(),
    createdAt: instant().notNull(),
    /** '' if the change concerns the platform. */
    organizationId: text().notNull(),
    projectId: text().notNull(),
    door: text({ enum: auditDoors }).notNull(),
    actorKind: text({ enum: auditActors }).notNull(),
    /** The id of the key, the user or the field manager, or the command, or `schedule`; '' for the platform key and otherwise for the system. */
    actorId: text().notNull(),
    /** The operationId of the REST operation, or that of the operation that has the same effect. */
    action: text().notNull(),
    resources: jsonb().$type<readonly string[]>().notNull(),
    /** JSON Pointers of the fields that the request named, without their values. */
    fields: jsonb().$type<readonly string[]>().notNull(),
    address: text().notNull(),
    requestId: text().notNull(),
  },
  (table) => [index().on(table.organizationId, table.createdAt, table.id)],
)

export type AuditRow = typeof auditRecords.$inferSelect
