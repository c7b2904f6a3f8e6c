import { and, eq, getTableColumns } from 'drizzle-orm'
import type { Context } from '#api/domain/access/context.ts'
import { testEventType } from '#api/domain/webhooks/events.ts'
import { presentDelivery } from '#api/domain/webhooks/present.ts'
import type { DeliveriesQuery, DeliveryAnswer } from '#api/domain/webhooks/schema.ts'
import { webhookDeliveries, webhooks } from '#api/domain/webhooks/table.ts'
import { refuseIfOff, webhookExists, whereWebhook } from '#api/domain/webhooks/webhooks.ts'
import { newestFirst, whereBeforeCursor } from '#api/platform/database/page.ts'
import { readPage } from '#api/platform/database/readPage.ts'
import { type Paged, toPage, toPaged } from '#api/platform/http/page.ts'
import { found, notFound, Problem } from '#api/platform/http/problem.ts'
import { createOnce } from '#api/platform/idempotency/once.ts'

const { data: _, ...shownColumns } = getTableColumns(webhookDeliveries)

/** Returns a page of the deliveries of a webhook, newest first. */
export const listDeliveries = async (
  ctx: Context,
  webhookId: string,
  query: DeliveriesQuery,
): Promise<Paged<DeliveryAnswer>> => {
  if (!(await webhookExists(ctx, webhookId))) throw notFound()
  const page = toPage(query)
  const read = await readPage(ctx, shownColumns, {
    from: webhookDeliveries,
    where: and(
      eq(webhookDeliveries.organizationId, ctx.organizationId),
      eq(webhookDeliveries.webhookId, webhookId),
      query.status && eq(webhookDeliveries.status, query.status),
      whereBeforeCursor(webhookDeliveries, page),
    ),
    orderBy: newestFirst(webhookDeliveries),
    limit: page.limit,
  })
  const { items, ...next } = toPaged(read)
  return { ...next, items: items.map(presentDelivery) }
}

/** Sends a message again, with the same id and all attempts anew. Throws a 409 if the webhook is inactive. */
export const redeliver = (
  ctx: Context,
  { webhookId, deliveryId }: { webhookId: string; deliveryId: string },
): Promise<DeliveryAnswer> => {
  refuseIfOff(ctx)
  return ctx.db.transaction(async (tx) => {
    const webhook = found(await tx.select().from(webhooks).where(whereWebhook(ctx, webhookId)).for('key share'))
    const [row] = await tx
      .update(webhookDeliveries)
      .set({ status: 'Pending', attempts: 0, nextAttemptAt: new Date(ctx.clock.now()), claimedUntil: null })
      .where(
        and(
          eq(webhookDeliveries.organizationId, ctx.organizationId),
          eq(webhookDeliveries.webhookId, webhookId),
          eq(webhookDeliveries.id, deliveryId),
        ),
      )
      .returning()
    if (row === undefined) throw notFound()
    refuseInactive(webhook)
    return presentDelivery(row)
  })
}

/** Sends a test message, whatever events the webhook selects. Throws a 409 if it is inactive. */
export const sendTest = (ctx: Context, webhookId: string): Promise<DeliveryAnswer> => {
  refuseIfOff(ctx)
  return createOnce(ctx, async (tx, now) => {
    const webhook = found(await tx.select().from(webhooks).where(whereWebhook(ctx, webhookId)).for('key share'))
    refuseInactive(webhook)
    const { organizationId } = ctx
    const [row] = await tx
      .insert(webhookDeliveries)
      .values({
        id: ctx.newId('delivery'),
        organizationId,
        webhookId,
        messageId: ctx.newId('message'),
        type: testEventType,
        data: { organizationId, webhookId },
        nextAttemptAt: now,
        createdAt: now,
      })
      .returning()
    if (row === undefined) throw new Error('Postgres returned no row for a new delivery.')
    return presentDelivery(row)
  })
}

/** Reports whether the webhook has a delivery with this id. */
export const deliveryExists = async (ctx: Context, webhookId: string, deliveryId: string): Promise<boolean> =>
  (await ctx.db.$count(
    webhookDeliveries,
    and(
      eq(webhookDeliveries.organizationId, ctx.organizationId),
      eq(webhookDeliveries.webhookId, webhookId),
      eq(webhookDeliveries.id, deliveryId),
    ),
  )) > 0

const refuseInactive = ({ isActive }: { isActive: boolean }): void => {
  if (!isActive) throw new Problem('conflict', 'The webhook is inactive. Activate it first (isActive).')
}
