import { and, eq, getTableColumns } from 'drizzle-orm'
import { refuseRestricted } from '#api/domain/access/authorise.ts'
import type { Context, LockRevision } from '#api/domain/access/context.ts'
import { lockLimits } from '#api/domain/organizations/organizations.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { listOrder, whereAfterCursor } from '#api/platform/database/page.ts'
import { readPage } from '#api/platform/database/readPage.ts'
import { type Revision, revisionOf } from '#api/platform/http/entityTag.ts'
import { type Page, type Paged, toPaged } from '#api/platform/http/page.ts'
import { found, notFound, Problem } from '#api/platform/http/problem.ts'
import { createOnce } from '#api/platform/idempotency/once.ts'
import { newSigningSecret } from '#api/platform/webhooks/signature.ts'
import { presentWebhook } from './present.ts'
import type {
  CreatedWebhook,
  CreateWebhook,
  PatchWebhook,
  RotatedWebhook,
  RotateWebhook,
  WebhookAnswer,
} from './schema.ts'
import { type WebhookRow, webhooks } from './table.ts'

/** Returns the context to which a sealed secret is bound. */
export const webhookContext = ({ id, organizationId }: Pick<WebhookRow, 'id' | 'organizationId'>): string =>
  `webhook/${organizationId}/${id}`

/** Creates a webhook. The response is the only one with its first secret. Throws a 403 for a restricted credential. */
export const createWebhook = async (ctx: Context, input: CreateWebhook): Promise<CreatedWebhook> => {
  refuseIfOff(ctx)
  refuseRestricted(ctx.principal, 'a webhook')
  return createOnce(ctx, async (tx, now) => {
    await refuseTooMany(ctx, tx)
    const secret = newSigningSecret()
    const ids = { id: ctx.newId('webhook'), organizationId: ctx.organizationId }
    const [row] = await tx
      .insert(webhooks)
      .values({
        ...ids,
        ...input,
        sealed: ctx.sealer.seal(secret, webhookContext(ids)),
        createdAt: now,
        updatedAt: now,
      })
      .returning()
    if (row === undefined) throw new Error('Postgres returned no row for a new webhook.')
    return { ...presentWebhook(row), secret }
  })
}

/** Returns a page of the organization's webhooks, oldest first. */
export const listWebhooks = async (ctx: Context, page: Page): Promise<Paged<WebhookAnswer>> => {
  const read = await readPage(ctx, getTableColumns(webhooks), {
    from: webhooks,
    where: and(eq(webhooks.organizationId, ctx.organizationId), whereAfterCursor(webhooks, page)),
    orderBy: listOrder(webhooks),
    limit: page.limit,
  })
  const { items, ...next } = toPaged(read)
  return { ...next, items: items.map(presentWebhook) }
}

/** Returns a webhook. Throws a 404 if the organization has none with this id. */
export const getWebhook = async (
  ctx: Context,
  webhookId: string,
): Promise<{ body: WebhookAnswer; revision: Revision }> => {
  const row = found(await ctx.db.select().from(webhooks).where(whereWebhook(ctx, webhookId)))
  return { body: presentWebhook(row), revision: webhookRevisionOf(row) }
}

/** Locks the webhook of the path and returns its revision. */
export const lockWebhookRevision: LockRevision = async (tx, ctx, { webhookId = '' }) => {
  const [row] = await tx.select().from(webhooks).where(whereWebhook(ctx, webhookId)).for('no key update')
  return row && webhookRevisionOf(row)
}

const webhookRevisionOf = ({ url, events, isActive, sealed }: WebhookRow): Revision =>
  revisionOf([url, events, isActive, sealed])

/**
 * Changes a webhook. Activating it clears the reason for which the system deactivated it. Throws a 403 for a URL from a restricted
 * credential.
 */
export const patchWebhook = async (ctx: Context, webhookId: string, changes: PatchWebhook): Promise<WebhookAnswer> => {
  if (changes.url !== undefined) refuseRestricted(ctx.principal, 'a URL of a webhook')
  return ctx.db.transaction(async (tx) => {
    const cleared = changes.isActive ? { failingSince: null, disabledAt: null, disabledReason: null } : {}
    const [row] = await tx
      .update(webhooks)
      .set({ ...changes, ...cleared, updatedAt: new Date(ctx.clock.now()) })
      .where(whereWebhook(ctx, webhookId))
      .returning()
    if (row === undefined) throw notFound()
    return presentWebhook(row)
  })
}

/** Deletes a webhook with its deliveries. */
export const deleteWebhook = (ctx: Context, webhookId: string): Promise<void> =>
  ctx.db.transaction(async (tx) => {
    const { rowCount } = await tx.delete(webhooks).where(whereWebhook(ctx, webhookId))
    if ((rowCount ?? 0) === 0) throw notFound()
  })

/**
 * Replaces the secret. For the overlap, messages have a signature of each of the two secrets. Throws a 403 for a restricted
 * credential.
 */
export const rotateWebhook = async (
  ctx: Context,
  webhookId: string,
  { overlapSeconds }: RotateWebhook,
): Promise<RotatedWebhook> => {
  refuseRestricted(ctx.principal, 'a secret of a webhook')
  return createOnce(ctx, async (tx, now) => {
    const row = found(await tx.select().from(webhooks).where(whereWebhook(ctx, webhookId)).for('no key update'))
    const secret = newSigningSecret()
    const previousValidUntil = new Date(now.getTime() + overlapSeconds * 1_000)
    await tx
      .update(webhooks)
      .set({
        sealed: ctx.sealer.seal(secret, webhookContext(row)),
        previousSealed: row.sealed,
        previousValidUntil,
        updatedAt: now,
      })
      .where(whereWebhook(ctx, webhookId))
    return { secret, previousValidUntil: previousValidUntil.toISOString() }
  })
}

/** Reports whether the organization of the headers has a webhook with this id. */
export const webhookExists = async (ctx: Context, webhookId: string): Promise<boolean> =>
  (await ctx.db.$count(webhooks, whereWebhook(ctx, webhookId))) > 0

/** Throws a 403 if the platform has switched webhooks off. */
export const refuseIfOff = ({ areWebhooksOn }: Pick<Context, 'areWebhooksOn'>): void => {
  if (!areWebhooksOn) throw new Problem('forbidden', 'The platform has switched webhooks off (ORRERY_WEBHOOKS).')
}

/** Returns the condition for a webhook of the organization of the headers. */
export const whereWebhook = (ctx: Pick<Context, 'organizationId'>, webhookId: string) =>
  and(eq(webhooks.organizationId, ctx.organizationId), eq(webhooks.id, webhookId))

const refuseTooMany = async (ctx: Context, tx: Transaction): Promise<void> => {
  const { maxWebhooks } = await lockLimits(ctx, tx)
  const existing = await tx.$count(webhooks, eq(webhooks.organizationId, ctx.organizationId))
  if (existing < maxWebhooks) return
  throw new Problem(
    'limit_reached',
    `The organization has ${existing} webhooks. Its limit is ${maxWebhooks} (maxWebhooks). Delete a webhook first.`,
  )
}
