import { boolean, index, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import { organizations } from '#api/domain/organizations/table.ts'
import { instant } from '#api/platform/database/columns.ts'

/** The API keys of an organization. The key itself stands here only sealed, and is found only by its fingerprint. */
export const apiKeys = pgTable(
  'api_keys',
  {
    id: text().primaryKey(),
    organizationId: text()
      .notNull()
      .references(() => organizations.id),
    displayName: text().notNull(),
    isActive: boolean().notNull(),
    isManagedByProvisioner: boolean().notNull().default(false),
    claims: jsonb().$type<Record<string, boolean>>().notNull(),
    permissions: jsonb().$type<string[]>().notNull(),
    fingerprint: text().notNull().unique(),
    sealed: text().notNull(),
    createdAt: instant().notNull(),
    updatedAt: instant().notNull(),
  },
  (table) => [index().on(table.organizationId, table.createdAt, table.id)],
)

export type ApiKeyRow = typeof apiKeys.$inferSelect
