import { and, eq, inArray, isNull, sql } from 'drizzle-orm'
import { authoriseCall } from '#api/domain/access/authorise.ts'
import type { Context } from '#api/domain/access/context.ts'
import { botDeployments } from '#api/domain/bots/table.ts'
import { deleteDocumentsOfScope } from '#api/domain/documents/cleanup.ts'
import { markOrganization } from '#api/domain/organizations/organizations.ts'
import { organizations } from '#api/domain/organizations/table.ts'
import { projects } from '#api/domain/projects/table.ts'
import { worlds } from '#api/domain/worlds/table.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { notFound } from '#api/platform/http/problem.ts'
import { markAllDirty } from '#api/platform/outbox/outbox.ts'

type DeletionScope = { readonly organizationId: string; readonly projectId: string; readonly worldId?: string }

/** The trace of the request that deletes, if it is traced. */
type Traced = { readonly traceparent?: string | undefined }

/** The time of a deletion, and the time from which its rows are erased. */
export type Deletion = { readonly deletingAt: Date; readonly purgeAt: Date }

/** Returns the times of a deletion that happens now. */
export const toDeletion = ({ clock, keepDeletedMs }: Pick<Context, 'clock' | 'keepDeletedMs'>): Deletion => ({
  deletingAt: new Date(clock.now()),
  purgeAt: new Date(clock.now() + keepDeletedMs),
})

/**
 * Deletes an organization with everything in it. Its keys are invalid from the commit on. Push closes its namespaces. The rows
 * are kept until `purgeAt`. Needs the platform key.
 */
export const deleteOrganization = async (ctx: Context): Promise<void> => {
  authoriseCall(ctx.principal, { platformOnly: true })
  const deletion = toDeletion(ctx)
  const { organizationId, traceparent } = ctx
  const keys = await ctx.db.transaction(async (tx) => {
    const changes = { ...deletion, updatedAt: deletion.deletingAt }
    const [deleted] = await tx
      .update(organizations)
      .set({ ...changes, revision: sql`${organizations.revision} + 1` })
      .where(and(eq(organizations.id, organizationId), isNull(organizations.deletingAt)))
      .returning({ id: organizations.id, revision: organizations.revision })
    if (deleted === undefined) throw notFound()
    await tx
      .update(projects)
      .set({ ...changes, revision: sql`${projects.revision} + 1` })
      .where(and(eq(projects.organizationId, organizationId), isNull(projects.deletingAt)))
    await markWorldsDeleting(tx, { organizationId, traceparent }, deletion)
    await markOrganization(ctx, tx, deleted)
    // The replicas read keys again that change, as with a key that is revoked.
    const { rows } = await tx.execute<{ id: string }>(sql`
      insert into realtime_changes (organization_id, project_id, world_id, type, id, version, user_id, data)
      select organization_id, '', '', 'apiKey', id, clock_timestamp(), '', '{}'::jsonb from api_keys
      where organization_id = ${organizationId} returning id`)
    return rows
  })
  for (const { id } of keys) ctx.keys.forget(id)
  ctx.wakeSync()
}

/**
 * Deletes the project of the headers with its worlds, their bots and all documents. No response shows them after the
 * commit. Push deletes the resources. The rows are kept until `purgeAt`.
 */
export const deleteProject = async (ctx: Context): Promise<void> => {
  const deletion = toDeletion(ctx)
  const { organizationId, projectId, traceparent } = ctx
  await ctx.db.transaction(async (tx) => {
    const deleted = await tx
      .update(projects)
      .set({ ...deletion, revision: sql`${projects.revision} + 1`, updatedAt: deletion.deletingAt })
      .where(and(eq(projects.organizationId, organizationId), eq(projects.id, projectId), isNull(projects.deletingAt)))
      .returning({ id: projects.id })
    if (deleted.length === 0) throw notFound()
    await markWorldsDeleting(tx, { organizationId, projectId, traceparent }, deletion)
    await deleteDocumentsOfScope(tx, { organizationId, projectId, worldId: '' }, deletion.deletingAt)
    await removeProjectIfEmpty(tx, projectId)
  })
  ctx.wakeSync()
}

/**
 * Deletes a world with its bots and documents. No response shows it after the commit. Its row is kept until `purgeAt`.
 */
export const deleteWorld = async (ctx: Context, worldId: string): Promise<void> => {
  const { organizationId, projectId, traceparent } = ctx
  const scope = { organizationId, projectId, worldId, traceparent }
  await ctx.db.transaction(async (tx) => {
    if (!(await markWorldDeleting(tx, scope, toDeletion(ctx)))) throw notFound()
  })
  ctx.wakeSync()
}

/** Marks a world as deleting with its bots and documents. Returns false if it does not exist or is already deleting. */
export const markWorldDeleting = async (
  tx: Transaction,
  scope: Required<DeletionScope> & Traced,
  deletion: Deletion,
): Promise<boolean> => {
  const { worlds } = await markWorldsDeleting(tx, scope, deletion)
  if (worlds === 0) return false
  await deleteDocumentsOfScope(tx, scope, deletion.deletingAt)
  return true
}

/** Deletes the bots and documents of a world. The caller marks the world's row as deleting. */
export const deleteWorldContents = async (
  tx: Transaction,
  { organizationId, projectId, worldId }: Required<DeletionScope>,
  deletion: Deletion,
): Promise<void> => {
  await markBotsDeleting(tx, [worldId], deletion)
  await deleteDocumentsOfScope(tx, { organizationId, projectId, worldId }, deletion.deletingAt)
}

/** Removes the row of a project that is deleted, has no worlds left and is no longer kept. */
export const removeProjectIfEmpty = async (tx: Transaction, projectId: string): Promise<void> => {
  await tx.execute(sql`
    delete from projects where id = ${projectId} and deleting_at is not null and (purge_at is null or purge_at <= now())
      and not exists (select from worlds where worlds.project_id = projects.id)`)
}

/**
 * Marks a world, or all worlds of a project or organization, and their bots as deleting and dirty. Returns the number of
 * worlds.
 */
const markWorldsDeleting = async (
  tx: Transaction,
  scope: Omit<DeletionScope, 'projectId'> & { projectId?: string } & Traced,
  deletion: Deletion,
): Promise<{ worlds: number }> => {
  const { organizationId, projectId, worldId, traceparent } = scope
  const deleted = await tx
    .update(worlds)
    .set({ ...deletion, revision: sql`${worlds.revision} + 1`, updatedAt: deletion.deletingAt })
    .where(
      and(
        eq(worlds.organizationId, organizationId),
        projectId === undefined ? undefined : eq(worlds.projectId, projectId),
        worldId === undefined ? undefined : eq(worlds.id, worldId),
        isNull(worlds.deletingAt),
      ),
    )
    .returning({ id: worlds.id, revision: worlds.revision })
  await markAllDirty(tx, 'world', deleted, traceparent)
  await markBotsDeleting(
    tx,
    deleted.map(({ id }) => id),
    deletion,
  )
  return { worlds: deleted.length }
}

/** Marks the bots of worlds as deleting and dirty. */
const markBotsDeleting = async (tx: Transaction, worldIds: readonly string[], deletion: Deletion): Promise<void> => {
  if (worldIds.length === 0) return
  const deleted = await tx
    .update(botDeployments)
    .set({ ...deletion, revision: sql`${botDeployments.revision} + 1`, updatedAt: deletion.deletingAt })
    .where(and(inArray(botDeployments.worldId, [...worldIds]), isNull(botDeployments.deletingAt)))
    .returning({ id: botDeployments.id, revision: botDeployments.revision })
  await markAllDirty(tx, 'bot', deleted)
}
