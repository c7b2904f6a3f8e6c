import { index, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { instant } from '#api/platform/database/columns.ts'

/** The responses to requests with an Idempotency-Key, kept for a day. They may contain secrets, so they are sealed. */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    principalId: text().notNull(),
    /** The organization of the credential, or '' for the platform key. */
    organizationId: text().notNull().default(''),
    operationId: text().notNull(),
    key: text().notNull(),
    fingerprint: text().notNull(),
    sealed: text().notNull(),
    createdAt: instant().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.principalId, table.operationId, table.key] }),
    index().on(table.createdAt),
    index().on(table.organizationId),
  ],
)
