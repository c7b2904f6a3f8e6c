import { type AnyColumn, type InferSelectModel, sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import type { Transaction } from '#api/platform/database/client.ts'
import { rowsOf } from '#api/platform/database/rows.ts'
import { statement } from '#api/platform/database/statement.ts'

/** The number of events that a world or a bot deployment keeps. */
const maxEvents = 100

type EventTable = PgTable & { readonly id: AnyColumn; readonly createdAt: AnyColumn }

/**
 * Returns a function that adds an event and removes the oldest of its owner above the maximum. `owner` is the column with the id of
 * the owner.
 */
export const createAddEvent = <Table extends EventTable>(table: Table, owner: AnyColumn) => {
  const rows = rowsOf(table)
  // A statement, because each start adds an event. The query for the oldest does not see the event that the same statement adds.
  const addEvent = statement(sql`
    with added as (${rows.insert()})
    delete from ${table} where id in (
      select id from ${table} where ${owner} = ${sql.placeholder('ownerId')}
      order by created_at desc, id desc offset ${sql.raw(String(maxEvents - 1))}
    )`)
  return async (tx: Transaction, ownerId: string, event: InferSelectModel<Table>): Promise<void> => {
    await addEvent(tx, { ...rows.encode(event), ownerId })
  }
}
