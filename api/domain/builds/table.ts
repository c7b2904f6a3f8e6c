import { boolean, index, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { organizations } from '#api/domain/organizations/table.ts'
import { instant } from '#api/platform/database/columns.ts'

/** The current build of each channel and tag of an organization. A change replaces the build's id. */
export const builds = pgTable(
  'builds',
  {
    organizationId: text()
      .notNull()
      .references(() => organizations.id),
    channelId: text().notNull(),
    tag: text().notNull(),
    id: text().notNull().unique(),
    image: text().notNull(),
    contentId: text().notNull(),
    digest: text(),
    probes: boolean().notNull(),
    createdAt: instant().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.channelId, table.tag] }),
    index().on(table.organizationId, table.contentId, table.createdAt),
  ],
)

export type BuildRow = typeof builds.$inferSelect
