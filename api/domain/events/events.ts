import { and, type Column, eq, sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import type { Context } from '#api/domain/access/context.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { newestFirst, whereBeforeCursor } from '#api/platform/database/page.ts'
import { readPage } from '#api/platform/database/readPage.ts'
import { rowsOf } from '#api/platform/database/rows.ts'
import { statement } from '#api/platform/database/statement.ts'
import { type Page, type Paged, toPaged } from '#api/platform/http/page.ts'
import type { NewId } from '#shared/ids.ts'
import { presentEvent } from './present.ts'
import type { EventAnswer } from './schema.ts'
import type { EventDraft, EventTable } from './table.ts'

/** The number of events that a world or a bot deployment keeps. */
const maxEvents = 100

type Owner = {
  readonly organizationId: string
  readonly projectId: string
  readonly worldId: string
  readonly botDeploymentId?: string
  readonly runId: string | null
}

/** Returns how the events of the resources of a kind are recorded and listed. `owner` is the column with the id of the resource. */
export const createEvents = (table: EventTable, owner: Column, isOfBots = false) => {
  const rows = rowsOf<PgTable>(table)
  // A statement, because each start adds an event. The query for the oldest does not see the event that the same statement adds.
  const addEvent = statement(sql`
    with added as (${rows.insert()})
    delete from ${table} where id in (
      select id from ${table} where ${owner} = ${sql.placeholder(owner.name)}
      order by created_at desc, id desc offset ${sql.raw(String(maxEvents - 1))}
    )`)
  const { id, createdAt, type, reason, message, runId } = table
  const shown = { id, createdAt, type, reason, message, runId }
  return {
    /** Adds events in the transaction of the change, and removes the oldest above the maximum. */
    record: async (
      tx: Transaction,
      of: Owner,
      drafts: readonly EventDraft[],
      { now, newId }: { now: Date; newId: NewId },
    ): Promise<void> => {
      const { organizationId, projectId, worldId, botDeploymentId } = of
      const common = { organizationId, projectId, worldId, botDeploymentId, runId: of.runId, createdAt: now }
      // One round trip.
      await Promise.all(drafts.map((draft) => addEvent(tx, rows.encode({ id: newId('event'), ...common, ...draft }))))
    },
    /** Lists the recent events of a resource, newest first. */
    list: async (ctx: Context, ownerId: string, page: Page): Promise<Paged<EventAnswer>> => {
      const read = await readPage(ctx, shown, {
        from: table,
        where: and(
          eq(table.organizationId, ctx.organizationId),
          eq(table.projectId, ctx.projectId),
          eq(owner, ownerId),
          whereBeforeCursor(table, page),
        ),
        orderBy: newestFirst(table),
        limit: page.limit,
      })
      const { items, ...next } = toPaged(read)
      return { ...next, items: items.map((row) => presentEvent(row, isOfBots)) }
    },
  }
}
