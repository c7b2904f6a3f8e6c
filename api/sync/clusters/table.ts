import { integer, pgTable, text } from 'drizzle-orm/pg-core'

/** The clusters that the API serves. */
export const clusters = pgTable('clusters', {
  name: text().primaryKey(),
  /** Grows by one with each replica that begins to pull. Transactions of an earlier term are refused. */
  pullTerm: integer().notNull(),
})
