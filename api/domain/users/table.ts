import { index, integer, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import type { PublicJwk } from '#api/domain/access/issuer.ts'
import { organizations } from '#api/domain/organizations/table.ts'
import { instant } from '#api/platform/database/columns.ts'

/** The keys that sign the tokens of the built-in issuer; the newest signs, the others still verify. */
export const signingKeys = pgTable('signing_keys', {
  id: text().primaryKey(),
  publicJwk: jsonb().$type<PublicJwk>().notNull(),
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
