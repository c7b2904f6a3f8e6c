import { boolean, index, integer, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import { organizations } from '#api/domain/organizations/table.ts'
import { instant } from '#api/platform/database/columns.ts'

/** The API keys of organizations. The key string is stored sealed and is looked up by its fingerprint. */
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
    /** The number of rotations so far. */
    rotation: integer().notNull().default(0),
    /** The fingerprint of the string before the last rotation. It is valid until `previousValidUntil`. */
    previousFingerprint: text().unique(),
    previousValidUntil: instant(),
    expiresAt: instant(),
    lastUsedAt: instant(),
    /** The CIDR blocks from which the key may be used; null means all. */
    allowedNetworks: jsonb().$type<string[]>(),
    /** The first key in the chain of keys that created this one; null if the platform key created it. */
    ancestorId: text(),
    createdAt: instant().notNull(),
    updatedAt: instant().notNull(),
  },
  (table) => [index().on(table.organizationId, table.createdAt, table.id)],
)

export type ApiKeyRow = typeof apiKeys.$inferSelect
