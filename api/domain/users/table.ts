import { index, integer, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import type { PublicJwk } from '#api/domain/access/issuer.ts'
import { organizations } from '#api/domain/organizations/table.ts'
import { instant } from '#api/platform/database/columns.ts'

/** The signing keys of the built-in issuer. The newest signs; all verify. */
export const signingKeys = pgTable('signing_keys', {
  id: text().primaryKey(),
  publicJwk: jsonb().$type<PublicJwk>().notNull(),
  sealed: text().notNull(),
  /** The sequence number. It is unique, so that of two replicas that add a key concurrently, one succeeds. */
  generation: integer().notNull().unique(),
  createdAt: instant().notNull(),
})

/** Revoked tokens of the built-in issuer. A row is deleted once its token has expired. */
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
