import { foreignKey, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { organizations } from '#api/domain/organizations/table.ts'
import { instant } from '#api/platform/database/columns.ts'
import { documentTypes } from '#shared/enumerations.ts'

/**
 * Documents by scope. An empty project or world id means a scope of a higher level. A deleted document keeps its row while
 * its scope exists, so that versions never repeat.
 */
export const documents = pgTable(
  'documents',
  {
    organizationId: text().notNull(),
    projectId: text().notNull(),
    worldId: text().notNull(),
    type: text({ enum: documentTypes }).notNull(),
    id: text().notNull(),
    userId: text().notNull(),
    data: jsonb().$type<Record<string, unknown>>().notNull(),
    version: instant().notNull(),
    deletedAt: instant(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.projectId, table.worldId, table.type, table.id] }),
    foreignKey({ columns: [table.organizationId], foreignColumns: [organizations.id] }),
  ],
)

export type DocumentRow = typeof documents.$inferSelect
