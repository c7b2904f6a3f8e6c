import { and, eq, inArray, isNull, sql } from 'drizzle-orm'
import type { Context } from '#api/domain/access/context.ts'
import { botDeployments } from '#api/domain/bots/table.ts'
import { deleteDocumentsOfScope } from '#api/domain/documents/sweep/service.ts'
import { projects } from '#api/domain/projects/table.ts'
import { worlds } from '#api/domain/worlds/table.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { notFound } from '#api/platform/http/problem.ts'
import { markAllDirty } from '#api/platform/outbox/outbox.ts'

type DeletionScope = { readonly organizationId: string; readonly projectId: string; readonly worldId?: string }

/**
 * Deletes the project of the headers with its worlds, their bots and all documents. No response shows them after the
 * commit. Push deletes the resources; the project's row is removed with that of its last world.
 */
export const deleteProject = async (ctx: Context): Promise<void> => {
  const now = new Date(ctx.clock.now())
  const { organizationId, projectId } = ctx
  await ctx.db.transaction(async (tx) => {
    const deleted = await tx
      .update(projects)
      .set({ deletingAt: now, revision: sql`${projects.revision} + 1`, updatedAt: now })
      .where(and(eq(projects.organizationId, organizationId), eq(projects.id, projectId), isNull(projects.deletingAt)))
      .returning({ id: projects.id })
    if (deleted.length === 0) throw notFound()
    await markWorldsDeleting(tx, { organizationId, projectId }, now)
    await removeProjectIfEmpty(tx, projectId)
  })
  ctx.wakeSync()
}

/**
 * Deletes a world with its bots and documents. No response shows it after the commit; its row is removed after its
 * resource.
 */
export const deleteWorld = async (ctx: Context, worldId: string): Promise<void> => {
  const now = new Date(ctx.clock.now())
  const { organizationId, projectId } = ctx
  await ctx.db.transaction(async (tx) => {
    const { worlds } = await markWorldsDeleting(tx, { organizationId, projectId, worldId }, now)
    if (worlds === 0) throw notFound()
  })
  ctx.wakeSync()
}

/** Deletes the bots and documents of a world. The caller marks the world's row as deleting. */
export const deleteWorldContents = async (
  tx: Transaction,
  { organizationId, projectId, worldId }: Required<DeletionScope>,
  now: Date,
): Promise<void> => {
  await markBotsDeleting(tx, [worldId], now)
  await deleteDocumentsOfScope(tx, { organizationId, projectId, worldId }, now)
}

/** Removes the row of a project that is being deleted and has no worlds left. */
export const removeProjectIfEmpty = async (tx: Transaction, projectId: string): Promise<void> => {
  await tx.execute(sql`
    delete from projects where id = ${projectId} and deleting_at is not null
      and not exists (select from worlds where worlds.project_id = projects.id)`)
}

/**
 * Marks a world, or all worlds of a project, and their bots as deleting and dirty. Deletes their documents. Returns the
 * number of worlds.
 */
const markWorldsDeleting = async (
  tx: Transaction,
  { organizationId, projectId, worldId }: DeletionScope,
  now: Date,
): Promise<{ worlds: number }> => {
  const deleted = await tx
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
  await markAllDirty(tx, 'world', deleted, now.getTime())
  await markBotsDeleting(
    tx,
    deleted.map(({ id }) => id),
    now,
  )
  await deleteDocumentsOfScope(tx, { organizationId, projectId, worldId: worldId ?? '' }, now)
  return { worlds: deleted.length }
}

/** Marks the bots of worlds as deleting and dirty. */
const markBotsDeleting = async (tx: Transaction, worldIds: readonly string[], now: Date): Promise<void> => {
  if (worldIds.length === 0) return
  const deleted = await tx
    .update(botDeployments)
    .set({ deletingAt: now, revision: sql`${botDeployments.revision} + 1`, updatedAt: now })
    .where(and(inArray(botDeployments.worldId, [...worldIds]), isNull(botDeployments.deletingAt)))
    .returning({ id: botDeployments.id, revision: botDeployments.revision })
  await markAllDirty(tx, 'bot', deleted, now.getTime())
}
