import { type AnyColumn, eq, sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import { newestFirst } from '#api/platform/database/page.ts'
import { columnNames, parametersOf, prepared } from '#api/platform/database/prepared.ts'

/** The number of events that a world or a bot deployment keeps. */
const maxEvents = 100

type EventTable = PgTable & { readonly id: AnyColumn; readonly createdAt: AnyColumn }

/**
 * Returns the statement that adds an event and removes the oldest of its owner above the maximum. Its parameters are the columns.
 * `owner` is the column with the id of the owner.
 */
export const preparedEvent = <Table extends EventTable>(table: Table, owner: AnyColumn, name: string) =>
  prepared((db) => {
    const added = db.$with('added').as(
      db
        .insert(table)
        .values(parametersOf(table, columnNames(table)))
        .returning(),
    )
    const ofOwner = eq(owner, sql.placeholder(owner.name))
    // The query for the oldest does not see the event that the same statement adds.
    const oldest = sql`(select id from ${table} where ${ofOwner}
      order by ${sql.join(newestFirst(table), sql`, `)} offset ${sql.raw(String(maxEvents - 1))})`
    return db.with(added).delete(table).where(sql`${table.id} in ${oldest}`).prepare(name)
  })
