import { and, eq, gt, inArray, isNotNull, isNull, type SQL, sql } from 'drizzle-orm'
import { authoriseCall } from '#api/domain/access/authorise.ts'
import type { Context } from '#api/domain/access/context.ts'
import type { Limits } from '#api/domain/access/limits.ts'
import { checkBotSize } from '#api/domain/bots/bots.ts'
import { sumBots } from '#api/domain/bots/live.ts'
import { botDeployments } from '#api/domain/bots/table.ts'
import type { DeletedWorld } from '#api/domain/deletion/schema.ts'
import { restoreDocuments } from '#api/domain/documents/cleanup.ts'
import { lockLimits, markOrganization } from '#api/domain/organizations/organizations.ts'
import { organizations } from '#api/domain/organizations/table.ts'
import { lockProject } from '#api/domain/projects/projects.ts'
import { projects } from '#api/domain/projects/table.ts'
import { checkWorldSize } from '#api/domain/worlds/size.ts'
import { launchContexts, type WorldRow, worlds } from '#api/domain/worlds/table.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { listOrder, whereAfterCursor } from '#api/platform/database/page.ts'
import { readPage } from '#api/platform/database/readPage.ts'
import { type Page, type Paged, toPaged } from '#api/platform/http/page.ts'
import { notFound, Problem } from '#api/platform/http/problem.ts'
import { markAllDirty } from '#api/platform/outbox/outbox.ts'
import { explainBotUse, noBotUse, sumBotUse, useOfBots } from '#shared/domain/botUse.ts'

/** Lists the deleted worlds of the project that can be restored, oldest world first. */
export const listDeletedWorlds = async (ctx: Context, page: Page): Promise<Paged<DeletedWorld>> => {
  const { organizationId, projectId } = ctx
  if (!(await ctx.scopeExists('project', { organizationId, projectId, worldId: '' }))) throw notFound()
  const read = await readPage(ctx, deletedColumns, {
    from: worlds,
    where: and(whereKept(ctx), whereAfterCursor(worlds, page)),
    orderBy: listOrder(worlds),
    limit: page.limit,
  })
  const { items, ...next } = toPaged(read)
  return { ...next, items: items.map(presentDeleted) }
}

const { id, name, createdAt, deletingAt, purgeAt, removedAt, networking, admission } = worlds
const deletedColumns = { id, name, createdAt, deletingAt, purgeAt, removedAt }
type DeletedRow = Pick<WorldRow, keyof typeof deletedColumns>

const presentDeleted = ({ id, name, deletingAt, purgeAt, removedAt }: DeletedRow): DeletedWorld => ({
  documentId: id,
  name,
  deletedAt: deletingAt?.toISOString() ?? '',
  purgeAt: purgeAt?.toISOString() ?? '',
  isRestorable: removedAt !== null,
})

/**
 * Restores a deleted world with its bots, documents, deployments and picture. It is inactive, private and without a run.
 * Throws a 409 while its resource exists and at a limit of the organization, and a 429 above the rate of its documents.
 */
export const restoreWorld = async (ctx: Context, worldId: string): Promise<void> => {
  await ctx.db.transaction(async (tx) => {
    const { organizationId, projectId } = ctx
    if (!(await lockProject(tx, ctx))) throw notFound()
    const restored = await restoreWorlds(ctx, tx, and(whereKept(ctx), eq(worlds.id, worldId)))
    if (restored.length === 0) throw notFound()
    await restoreDocuments(tx, { organizationId, projectId }, [worldId], ctx.countRestoredBytes)
  })
  ctx.wakeSync()
}

/** Restores a deleted project with the worlds that were deleted with it. */
export const restoreProject = async (ctx: Context, projectId: string): Promise<void> => {
  await ctx.db.transaction(async (tx) => {
    const { organizationId } = ctx
    const [deleted] = await tx
      .select()
      .from(projects)
      .where(and(eq(projects.organizationId, organizationId), eq(projects.id, projectId), gt(projects.purgeAt, now)))
      .for('update')
    if (deleted === undefined) throw notFound()
    await restoreProjects(ctx, tx, [deleted])
  })
  ctx.wakeSync()
}

/** Restores a deleted organization with the projects and worlds that were deleted with it. Needs the platform key. */
export const restoreOrganization = async (ctx: Context): Promise<void> => {
  authoriseCall(ctx.principal, { platformOnly: true })
  await ctx.db.transaction(async (tx) => {
    const { organizationId } = ctx
    const [row] = await tx
      .select()
      .from(organizations)
      .where(and(eq(organizations.id, organizationId), gt(organizations.purgeAt, now)))
      .for('update')
    if (row?.deletingAt == null) throw notFound()
    const revision = row.revision + 1
    await tx
      .update(organizations)
      .set({ deletingAt: null, purgeAt: null, revision })
      .where(eq(organizations.id, organizationId))
    const deleted = await tx
      .select()
      .from(projects)
      .where(and(eq(projects.organizationId, organizationId), eq(projects.deletingAt, row.deletingAt)))
      .for('update')
    await restoreProjects(ctx, tx, deleted)
    await markOrganization(ctx, tx, { id: organizationId, revision })
  })
  ctx.wakeSync()
}

const now = sql`now()`

/** Selects the deleted worlds of the project of the headers that are kept. */
const whereKept = ({ organizationId, projectId }: Context): SQL | undefined =>
  and(
    eq(worlds.organizationId, organizationId),
    eq(worlds.projectId, projectId),
    isNotNull(worlds.deletingAt),
    gt(worlds.purgeAt, now),
  )

const restoreProjects = async (
  ctx: Context,
  tx: Transaction,
  deleted: readonly (typeof projects.$inferSelect)[],
): Promise<void> => {
  for (const { id: projectId, organizationId, deletingAt, revision } of deleted) {
    await tx
      .update(projects)
      .set({ deletingAt: null, purgeAt: null, revision: revision + 1 })
      .where(eq(projects.id, projectId))
    const whereProject = and(
      whereKept({ ...ctx, projectId }),
      deletingAt === null ? undefined : eq(worlds.deletingAt, deletingAt),
    )
    const restored = await restoreWorlds(ctx, tx, whereProject)
    await restoreDocuments(tx, { organizationId, projectId }, ['', ...restored], ctx.countRestoredBytes)
  }
}

/** Restores the selected rows with their bots. Returns their ids. */
const restoreWorlds = async (ctx: Context, tx: Transaction, where: SQL | undefined): Promise<string[]> => {
  const columns = { id, removedAt, networking, admission }
  const rows = await tx.select(columns).from(worlds).where(where).orderBy(worlds.id).for('update')
  const unfinished = rows.find(({ removedAt }) => removedAt === null)
  if (unfinished !== undefined) {
    throw new Problem(
      'conflict',
      `The world ${unfinished.id} is still being deleted: its resource exists in the cluster. Try again when it is gone.`,
    )
  }
  const ids = rows.map(({ id }) => id)
  if (ids.length === 0) return []
  await checkLimits(ctx, tx, rows)
  const cleared = {
    deletingAt: null,
    purgeAt: null,
    removedAt: null,
    statusMessage: '',
    conditions: [],
    updatedAt: new Date(ctx.clock.now()),
  }
  const restored = await tx
    .update(worlds)
    .set({
      ...cleared,
      cluster: sql`coalesce(${worlds.targetCluster}, ${worlds.cluster})`,
      targetCluster: null,
      resourceName: restoredName(worlds, ids),
      state: 'Stopped',
      runId: null,
      startedAt: null,
      startedWith: null,
      granted: null,
      waitsSince: null,
      waitsFor: null,
      waitsUntil: null,
      phase: 'Inactive',
      address: null,
      idle: null,
      revision: sql`${worlds.revision} + 1`,
      runRevision: sql`${worlds.revision} + 1`,
    })
    .where(inArray(worlds.id, ids))
    .returning({ id: worlds.id, revision: worlds.revision })
  await tx.update(launchContexts).set({ isPublic: false }).where(inArray(launchContexts.worldId, ids))
  const whereDeletedBots = and(inArray(botDeployments.worldId, ids), isNotNull(botDeployments.removedAt))
  const deletedBots = await tx.select({ id: botDeployments.id }).from(botDeployments).where(whereDeletedBots)
  const bots = await tx
    .update(botDeployments)
    .set({
      ...cleared,
      cluster: sql`coalesce(${botDeployments.targetCluster}, ${botDeployments.cluster})`,
      targetCluster: null,
      resourceName: restoredName(
        botDeployments,
        deletedBots.map(({ id }) => id),
      ),
      worldName: sql`(select ${worlds.resourceName} from ${worlds} where ${worlds.id} = ${botDeployments.worldId})`,
      phase: 'Pending',
      startedAt: null,
      revision: sql`${botDeployments.revision} + 1`,
    })
    .where(whereDeletedBots)
    .returning({ id: botDeployments.id, revision: botDeployments.revision })
  await markAllDirty(tx, 'world', restored, ctx.traceparent)
  await markAllDirty(tx, 'bot', bots, ctx.traceparent)
  return ids
}

/**
 * Returns the name of a restored resource: its former name, or else the id of the row. The id is used if the row has moved to
 * another cluster, or if another row there has the name. `ids` are restored together.
 */
const restoredName = (table: typeof worlds | typeof botDeployments, ids: readonly string[]): SQL => {
  const hasName = sql`other.organization_id = ${table.organizationId} and other.cluster = ${table.cluster}
    and other.resource_name = ${table.resourceName} and other.id <> ${table.id}`
  const isEarlier = sql`other.id < ${table.id} and ${inArray(sql`other.id`, [...ids])}`
  return sql`case when ${table.targetCluster} is null and not exists (
    select from ${table} other where ${hasName} and (other.deleting_at is null or ${isEarlier})
  ) then ${table.resourceName} else ${table.id} end`
}

/**
 * Throws a 409 if the organization would exceed maxWorlds or a limit of its bots. Throws a 403 if a world is larger than its
 * limits, or a bot larger than the scaling profile of its world.
 */
const checkLimits = async (
  ctx: Context,
  tx: Transaction,
  rows: readonly Pick<WorldRow, 'id' | 'networking' | 'admission'>[],
): Promise<void> => {
  const limits = await lockLimits(ctx, tx)
  for (const { networking, admission } of rows) {
    const size = { profile: networking.scaling.profile, capacity: admission.capacity }
    checkWorldSize(size, { limits, ...ctx.principal })
  }
  const ids = rows.map(({ id }) => id)
  const live = await tx.$count(worlds, and(eq(worlds.organizationId, ctx.organizationId), isNull(worlds.deletingAt)))
  const whereBots = eq(botDeployments.organizationId, ctx.organizationId)
  const whereDeletedBots = and(inArray(botDeployments.worldId, ids), isNotNull(botDeployments.removedAt))
  await checkBots(ctx, tx, rows, limits)
  const liveBots = await tx.$count(botDeployments, and(whereBots, isNull(botDeployments.deletingAt)))
  const moreBots = await tx.$count(botDeployments, and(whereBots, whereDeletedBots))
  for (const [name, total] of [
    ['maxWorlds', live + ids.length],
    ['maxBotDeployments', liveBots + moreBots],
  ] as const) {
    if (total <= limits[name]) continue
    throw new Problem(
      'limit_reached',
      `With the restored ones, the organization would have ${total}. Its limit is ${limits[name]} (${name}). Delete others first.`,
    )
  }
}

/** Throws a 403 if a bot to restore is larger than the scaling profile of its world, and a 409 if all of them need too much. */
const checkBots = async (
  ctx: Context,
  tx: Transaction,
  rows: readonly Pick<WorldRow, 'id' | 'networking'>[],
  limits: Pick<Limits, 'maxBotCpu' | 'maxBotMemory'>,
): Promise<void> => {
  const { cpu, memory, worldId } = botDeployments
  const bots = await tx
    .select({ cpu, memory, worldId, count: botDeployments.count })
    .from(botDeployments)
    .where(
      and(
        eq(botDeployments.organizationId, ctx.organizationId),
        inArray(
          worldId,
          rows.map(({ id }) => id),
        ),
        isNotNull(botDeployments.removedAt),
      ),
    )
  for (const row of rows) {
    for (const size of bots.filter(({ worldId: id }) => id === row.id)) checkBotSize(ctx, row, size)
  }
  const own = sumBotUse(bots.map((each) => useOfBots(each, each.count)))
  const excess = explainBotUse({ own, before: noBotUse, others: await sumBots(tx, ctx) }, limits)
  if (excess !== undefined) throw new Problem('limit_reached', excess)
}
