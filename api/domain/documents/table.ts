import { sql } from 'drizzle-orm'
import { bigint, foreignKey, index, integer, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { organizations } from '#api/domain/organizations/table.ts'
import { instant } from '#api/platform/database/columns.ts'
import { documentTypes } from '#shared/enumerations.ts'

/** The columns that a document has in both tables. */
const contentColumns = {
  organizationId: text().notNull(),
  projectId: text().notNull(),
  worldId: text().notNull(),
  type: text({ enum: documentTypes }).notNull(),
  id: text().notNull(),
  userId: text().notNull(),
  data: jsonb().$type<Record<string, unknown>>().notNull(),
}

/**
 * Documents by scope. An empty project or world id means a scope of a higher level. A deleted document keeps its row for a
 * day, so that its versions do not repeat and a replica that was disconnected can read it.
 */
export const documents = pgTable(
  'documents',
  {
    ...contentColumns,
    version: instant().notNull(),
    deletedAt: instant(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.projectId, table.worldId, table.type, table.id] }),
    foreignKey({ columns: [table.organizationId], foreignColumns: [organizations.id] }),
    index().on(table.deletedAt).where(sql`${table.deletedAt} is not null`),
  ],
)

/** The documents of deleted projects and worlds that can be restored. */
export const keptDocuments = pgTable('kept_documents', contentColumns, (table) => [
  primaryKey({ columns: [table.organizationId, table.projectId, table.worldId, table.type, table.id] }),
])

const counter = () => bigint({ mode: 'number' }).notNull()

/**
 * The counts of the documents of an organization: the sum of its slots, each of which triggers change with every statement. A
 * slot alone may be negative.
 */
export const documentCounts = pgTable(
  'document_counts',
  {
    organizationId: text().notNull(),
    slot: integer().notNull(),
    documents: counter(),
    bytes: counter(),
    /** The rows of deleted documents: those of the last day, and the content that a restore needs. */
    keptRows: counter(),
    keptBytes: counter(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.slot] })],
)

export type DocumentRow = typeof documents.$inferSelect
