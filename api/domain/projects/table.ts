import { index, integer, pgTable, text, unique } from 'drizzle-orm/pg-core'
import { organizations } from '#api/domain/organizations/table.ts'
import { instant } from '#api/platform/database/columns.ts'

/** The projects of an organization. */
export const projects = pgTable(
  'projects',
  {
    id: text().primaryKey(),
    organizationId: text()
      .notNull()
      .references(() => organizations.id),
    name: text().notNull(),
    revision: integer().notNull().default(1),
    /** A project marked so is absent from every answer; its row goes when the last of its worlds is gone. */
    deletingAt: instant(),
    createdAt: instant().notNull(),
    updatedAt: instant().notNull(),
  },
  // What belongs to a project refers to both columns, so that Postgres itself refuses a row that mixes two tenants.
  (table) => [unique().on(table.organizationId, table.id), index().on(table.organizationId, table.createdAt, table.id)],
)
