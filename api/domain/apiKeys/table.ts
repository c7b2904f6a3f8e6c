import { boolean, index, integer, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { organizations } from '#api/domain/organizations/table.ts'
import type { KeySet } from '#api/domain/users/schema.ts'
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
    /** The number of rotations so far. */
    rotation: integer().notNull().default(0),
    /** Finds the key by the string that the last rotation replaced, which is valid until `previousValidUntil`. */
    previousFingerprint: text().unique(),
    previousValidUntil: instant(),
    expiresAt: instant(),
    lastUsedAt: instant(),
    /** The CIDR blocks from which the key may be used; null is everywhere. */
    allowedNetworks: jsonb().$type<string[]>(),
    /** The first key in the chain of keys that made this one; null for keys that the platform key made. */
    ancestorId: text(),
    createdAt: instant().notNull(),
    updatedAt: instant().notNull(),
  },
  (table) => [index().on(table.organizationId, table.createdAt, table.id)],
)

/** The keys that sign the tokens of the built-in issuer; the newest signs, the others still verify. */
export const signingKeys = pgTable('signing_keys', {
  id: text().primaryKey(),
  publicJwk: jsonb().$type<KeySet['keys'][number]>().notNull(),
  sealed: text().notNull(),
  /** Numbers the keys, so that two replicas that make one at the same moment make one. */
  generation: integer().notNull().unique(),
  createdAt: instant().notNull(),
})

/** Tokens of the built-in issuer that were revoked before their end; each is deleted after it. */
export const revokedTokens = pgTable(
  'revoked_tokens',
  {
    organizationId: text()
      .notNull()
      .references(() => organizations.id),
    userId: text().notNull(),
    id: text().notNull(),
    expiresAt: instant().notNull(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.userId, table.id] }), index().on(table.expiresAt)],
)

export type ApiKeyRow = typeof apiKeys.$inferSelect
export type SigningKeyRow = typeof signingKeys.$inferSelect
