import { and, eq, getTableColumns } from 'drizzle-orm'
import type { Context } from '#api/domain/access/context.ts'
import { botsExist } from '#api/domain/bots/bots.ts'
import { type BotRow, botEvents } from '#api/domain/bots/table.ts'
import { createAddEvent } from '#api/domain/events/addEvent.ts'
import { presentEvent } from '#api/domain/events/present.ts'
import type { EventAnswer } from '#api/domain/events/schema.ts'
import type { EventDraft } from '#api/domain/events/table.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { newestFirst, whereBeforeCursor } from '#api/platform/database/page.ts'
import { readPage } from '#api/platform/database/readPage.ts'
import { type Page, type Paged, toPaged } from '#api/platform/http/page.ts'
import { notFound } from '#api/platform/http/problem.ts'
import type { NewId } from '#shared/ids.ts'

/** Adds events of a bot deployment in the transaction of the change, and removes the oldest above the maximum. */
export const recordBotEvents = async (
  tx: Transaction,
  { id, organizationId, projectId, worldId }: Pick<BotRow, 'id' | 'organizationId' | 'projectId' | 'worldId'>,
  drafts: readonly EventDraft[],
  { now, newId, runId }: { now: Date; newId: NewId; runId: string | null },
): Promise<void> => {
  const common = { organizationId, projectId, worldId, botDeploymentId: id, runId, createdAt: now }
  // One round trip.
  await Promise.all(drafts.map((draft) => addEvent(tx, id, { id: newId('event'), ...common, ...draft })))
}

const addEvent = createAddEvent(botEvents, botEvents.botDeploymentId)

/** Lists the recent events of a bot deployment, newest first. */
export const listBotEvents = async (
  ctx: Context,
  { worldId, botDeploymentId, page }: { worldId: string; botDeploymentId: string; page: Page },
): Promise<Paged<EventAnswer>> => {
  if (!(await botsExist(ctx, { worldId, botDeploymentId }))) throw notFound()
  const read = await readPage(ctx, getTableColumns(botEvents), {
    from: botEvents,
    where: and(
      eq(botEvents.organizationId, ctx.organizationId),
      eq(botEvents.projectId, ctx.projectId),
      eq(botEvents.botDeploymentId, botDeploymentId),
      whereBeforeCursor(botEvents, page),
    ),
    orderBy: newestFirst(botEvents),
    limit: page.limit,
  })
  const { items, ...next } = toPaged(read)
  return { ...next, items: items.map(presentEvent) }
}
