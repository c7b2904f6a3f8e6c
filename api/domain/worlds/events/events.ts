import { and, eq, getTableColumns } from 'drizzle-orm'
import type { Context } from '#api/domain/access/context.ts'
import { createAddEvent } from '#api/domain/events/addEvent.ts'
import { presentEvent } from '#api/domain/events/present.ts'
import type { EventAnswer } from '#api/domain/events/schema.ts'
import type { EventDraft } from '#api/domain/events/table.ts'
import { type WorldRow, worldEvents } from '#api/domain/worlds/table.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { newestFirst, whereBeforeCursor } from '#api/platform/database/page.ts'
import { readPage } from '#api/platform/database/readPage.ts'
import { type Page, type Paged, toPaged } from '#api/platform/http/page.ts'
import { notFound } from '#api/platform/http/problem.ts'
import type { NewId } from '#shared/ids.ts'

/** Adds events of a world in the transaction of the change, and removes the oldest above the maximum. */
export const recordWorldEvents = async (
  tx: Transaction,
  { id, organizationId, projectId, runId }: Pick<WorldRow, 'id' | 'organizationId' | 'projectId' | 'runId'>,
  drafts: readonly EventDraft[],
  { now, newId }: { now: Date; newId: NewId },
): Promise<void> => {
  const common = { organizationId, projectId, worldId: id, runId, createdAt: now }
  // One round trip.
  await Promise.all(drafts.map((draft) => addEvent(tx, id, { id: newId('event'), ...common, ...draft })))
}

const addEvent = createAddEvent(worldEvents, worldEvents.worldId)

/** Lists the recent events of a world, newest first. */
export const listWorldEvents = async (
  ctx: Context,
  { worldId, page }: { worldId: string; page: Page },
): Promise<Paged<EventAnswer>> => {
  const { organizationId, projectId } = ctx
  if (!(await ctx.scopeExists('world', { organizationId, projectId, worldId }))) throw notFound()
  const read = await readPage(ctx, getTableColumns(worldEvents), {
    from: worldEvents,
    where: and(
      eq(worldEvents.organizationId, organizationId),
      eq(worldEvents.projectId, projectId),
      eq(worldEvents.worldId, worldId),
      whereBeforeCursor(worldEvents, page),
    ),
    orderBy: newestFirst(worldEvents),
    limit: page.limit,
  })
  const { items, ...next } = toPaged(read)
  return { ...next, items: items.map(presentEvent) }
}
