import type { BuildColumns } from 'drizzle-orm'
import { type PgTable, text } from 'drizzle-orm/pg-core'
import { instant } from '#api/platform/database/columns.ts'

/** The types of event. A Warning needs attention. */
export const eventTypes = ['Normal', 'Warning'] as const

/** The columns of a table of events. */
export const eventColumns = () => ({
  id: text().primaryKey(),
  organizationId: text().notNull(),
  projectId: text().notNull(),
  worldId: text().notNull(),
  createdAt: instant().notNull(),
  type: text({ enum: eventTypes }).notNull(),
  reason: text().notNull(),
  /** Fixed sentences of the operator or the API. */
  message: text().notNull(),
  runId: text(),
})

/** A table of events. */
export type EventTable = PgTable & BuildColumns<string, ReturnType<typeof eventColumns>, 'pg'>

/** The columns of an event that every table of events has. */
export type EventRow = {
  readonly id: string
  readonly createdAt: Date
  readonly type: (typeof eventTypes)[number]
  readonly reason: string
  readonly message: string
  readonly runId: string | null
}

/** An event before it is recorded. */
export type EventDraft = Pick<EventRow, 'type' | 'reason' | 'message'>
