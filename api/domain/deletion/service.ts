import { and, eq, inArray, isNull, sql } from 'drizzle-orm'
import type { Context } from '#api/domain/access/context.ts'
import { botDeployments } from '#api/domain/bots/table.ts'
import { endDocuments } from '#api/domain/documents/sweep/service.ts'
import { projects } from '#api/domain/projects/table.ts'
import { worlds } from '#api/domain/worlds/table.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { notFound } from '#api/platform/http/problem.ts'
import { markAllDirty } from '#api/platform/outbox/outbox.ts'

type Beneath = { readonly organizationId: string; readonly projectId: string; readonly worldId?: string }

/**
 * Deletes the project of the headers with its worlds, their bots and all documents. From the commit on, none of it is
 * in any answer. Push deletes the resources, and the project's row goes with the last of its worlds.
 */
export const deleteProject = async (ctx: Context): Promise<void> => {
  const now = new Date(ctx.clock.now())
  const { organizationId, projectId } = ctx
  await ctx.db.transaction(async (tx) => {
    const gone = await tx
      .update(projects)
      .set({ deletingAt: now, revision: sql`${projects.revision} + 1`, updatedAt: now })
      .where(and(eq(projects.organizationId, organizationId), eq(projects.id, projectId), isNull(projects.deletingAt)))
      .returning({ id: projects.id })
    if (gone.length === 0) throw notFound()
    await markWorldsDeleting(tx, { organizationId, projectId }, now)
    await removeProjectIfEmpty(tx, projectId)
  })
  ctx.wakeSync()
}

/** Deletes a world with its bots and documents. It is in no answer from now on, and its row goes with its resource. */
export const deleteWorld = async (ctx: Context, worldId: string): Promise<void> => {
  const now = new Date(ctx.clock.now())
  const { organizationId, projectId } = ctx
  await ctx.db.transaction(async (tx) => {
    const { worlds } = await markWorldsDeleting(tx, { organizationId, projectId, worldId }, now)
    if (worlds === 0) throw notFound()
  })
  ctx.wakeSync()
}

/** Ends what belongs to a world whose row the caller marks as deleting: its bots and its documents. */
export const endContents = async (
  tx: Transaction,
  { organizationId, projectId, worldId }: Required<Beneath>,
  now: Date,
): Promise<void> => {
  await markBotsDeleting(tx, [worldId], now)
  await endDocuments(tx, { organizationId, projectId, worldId }, now)
}

/** Removes the row of a project that is being deleted and has no worlds left. */
export const removeProjectIfEmpty = async (tx: Transaction, projectId: string): Promise<void> => {
  await tx.execute(sql`
    delete from projects where id = ${projectId} and deleting_at is not null
      and not exists (select from worlds where worlds.project_id = projects.id)`)
}

/**
 * Marks the world, or all worlds of a project, and their bots as deleting, and all of them dirty, in the
 * transaction that deletes them. Their documents end at once. Returns the number of worlds.
 */
const markWorldsDeleting = async (
  tx: Transaction,
  { organizationId, projectId, worldId }: Beneath,
  now: Date,
): Promise<{ worlds: number }> => {
  const gone = await tx
    .update(worlds)
    .set({ deletingAt: now, revision: sql`${worlds.revision} + 1`, updatedAt: now })
    .where(
      and(
        eq(worlds.organizationId, organizationId),
        eq(worlds.projectId, projectId),
        worldId === undefined ? undefined : eq(worlds.id, worldId),
        isNull(worlds.deletingAt),
      ),
    )
    .returning({ id: worlds.id, revision: worlds.revision })
  await markAllDirty(tx, 'world', gone, now.getTime())
  await markBotsDeleting(
    tx,
    gone.map(({ id }) => id),
    now,
  )
  await endDocuments(tx, { organizationId, projectId, worldId: worldId ?? '' }, now)
  return { worlds: gone.length }
}

/** Marks the bots of worlds as deleting, and dirty. */
const markBotsDeleting = async (tx: Transaction, worldIds: readonly string[], now: Date): Promise<void> => {
  if (worldIds.length === 0) return
  const gone = await tx
    .update(botDeployments)
    .set({ deletingAt: now, revision: sql`${botDeployments.revision} + 1`, updatedAt: now })
    .where(and(inArray(botDeployments.worldId, [...worldIds]), isNull(botDeployments.deletingAt)))
    .returning({ id: botDeployments.id, revision: botDeployments.revision })
  await markAllDirty(tx, 'bot', gone, now.getTime())
}
