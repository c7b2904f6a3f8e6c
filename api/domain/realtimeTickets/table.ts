import { index, pgTable, text } from 'drizzle-orm/pg-core'
import { instant } from '#api/platform/database/columns.ts'

/** The open tickets for realtime handshakes. The table is unlogged. */
export const realtimeTickets = pgTable(
  'realtime_tickets',
  {
    hash: text().primaryKey(),
    organizationId: text().notNull(),
    /** The name of the caller whose tickets are counted together. */
    caller: text().notNull(),
    /** The header with the credential of the caller, sealed with the keys of the platform. */
    sealed: text().notNull(),
    expiresAt: instant().notNull(),
  },
  (table) => [index().on(table.organizationId, table.caller, table.expiresAt), index().on(table.expiresAt)],
)
