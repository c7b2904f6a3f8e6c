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
    /**
     * The time of the deletion request. From then on no response shows the project. Its row is removed with that of its
     * last world.
     */
    deletingAt: instant(),
    /** The time from which a deleted row is erased; until then it can be restored. Null means at once. */
    purgeAt: instant(),
    createdAt: instant().notNull(),
    updatedAt: instant().notNull(),
  },
  // Tables of a project reference both columns, so that Postgres refuses rows that mix two organizations.
  (table) => [unique().on(table.organizationId, table.id), index().on(table.organizationId, table.createdAt, table.id)],
)
