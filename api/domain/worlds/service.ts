import { and, count, eq, inArray, isNull, type SQL, sql } from 'drizzle-orm'
import type { Context } from '#api/domain/access/context.ts'
import { resolveBuild } from '#api/domain/builds/service.ts'
import { lockLimits } from '#api/domain/organizations/service.ts'
import { removeUpload } from '#api/domain/pictures/service.ts'
import { projects } from '#api/domain/projects/table.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { listOrder, whereAfterCursor } from '#api/platform/database/page.ts'
import { prepared } from '#api/platform/database/prepared.ts'
import { checkIfMatch } from '#api/platform/http/entityTag.ts'
import { type Page, type Paged, toPaged } from '#api/platform/http/page.ts'
import { notFound, Problem } from '#api/platform/http/problem.ts'
import { createOnce } from '#api/platform/idempotency/service.ts'
import { markDirty } from '#api/platform/outbox/outbox.ts'
import type { DeploymentStatus } from '#shared/enumerations.ts'
import { buildWorldRows } from './create.ts'
import { applyPatch } from './patch.ts'
import { presentDeployment, presentWorld } from './present.ts'
import type { Compute, CreateWorld, DeploymentAnswer, PatchWorld, WorldAnswer } from './schema.ts'
import { checkWorldSize } from './size.ts'
import { deployments, launchContexts, type WorldRow, worlds } from './table.ts'
import { toStartColumns, toStopColumns } from './transitions.ts'

/** A world with the versions that form its entity tag. */
export type TaggedWorld = { world: WorldAnswer; revision: number; statusVersion: number }

/** Creates a world and its launch context. Sync creates the namespace and the resource after the commit. */
export const createWorld = async (
  ctx: Context,
  input: CreateWorld,
): Promise<{ worldId: string; launchContextId: string }> => {
  const cluster = selectCluster(ctx, input.compute)
  const created = await createOnce(ctx, async (tx, now) => {
    const { world, launchContext } = buildWorldRows(input, { ...ctx, cluster, now })
    await checkNewWorld(ctx, tx, {
      profile: input.networking.scaling.profile,
      capacity: launchContext.details.capacity,
    })
    await tx.insert(worlds).values(world)
    await tx.insert(launchContexts).values(launchContext)
    await markDirty(tx, { kind: 'world', id: world.id, revision: 1 }, now.getTime())
    return { worldId: world.id, launchContextId: launchContext.id }
  })
  ctx.wakeSync()
  return created
}

const worldQuery = prepared((db) =>
  db
    .select()
    .from(worlds)
    .innerJoin(launchContexts, eq(launchContexts.worldId, worlds.id))
    .where(
      and(
        eq(worlds.organizationId, sql.placeholder('organizationId')),
        eq(worlds.projectId, sql.placeholder('projectId')),
        eq(worlds.id, sql.placeholder('worldId')),
        isNull(worlds.deletingAt),
      ),
    )
    .prepare('world_with_context'),
)

/** Reads one world. */
export const getWorld = async (ctx: Context, worldId: string): Promise<TaggedWorld> => {
  const { organizationId, projectId } = ctx
  const [row] = await worldQuery(ctx.db).execute({ organizationId, projectId, worldId })
  if (row === undefined) throw notFound()
  const { revision, statusVersion } = row.worlds
  return { world: presentWorld(row.worlds, row.launch_contexts, ctx.verb ?? 'r'), revision, statusVersion }
}

/** Changes a world. Settings of a run take effect at the next start, and the status message names the pending ones. */
export const patchWorld = async (
  ctx: Context,
  { worldId, ifMatch, changes }: { worldId: string; ifMatch: string | undefined; changes: PatchWorld },
): Promise<TaggedWorld> => {
  if (changes.compute !== undefined) selectCluster(ctx, changes.compute)
  const before = await updateWorld(ctx, worldId, async (tx, row, now) => {
    checkIfMatch(ifMatch, row)
    const [context] = await tx.select().from(launchContexts).where(eq(launchContexts.worldId, worldId))
    if (context === undefined) throw notFound()
    const next = applyPatch(row, context, changes)
    const { profile } = next.world.networking.scaling
    if (changes.networking ?? changes.admission ?? changes.runtime) {
      checkWorldSize(
        { profile, capacity: next.world.admission.capacity },
        { limits: await lockLimits(ctx, tx), ...ctx.principal },
      )
    }
    const { estimatedCapacity } = next.world
    if (estimatedCapacity < row.estimatedCapacity) await checkCapacityForBots(ctx, tx, worldId, estimatedCapacity)
    await tx.update(launchContexts).set(next.context).where(eq(launchContexts.worldId, worldId))
    return { ...next.world, revision: row.revision + 1, updatedAt: now }
  })
  const after = await getWorld(ctx, worldId)
  if (before.pictureUrl !== (after.world.pictureUrl ?? null)) await removeUpload(ctx, worldId, before.pictureUrl)
  return after
}

/** Sets the URL of a world's picture. Returns the previous URL, or null. */
export const setWorldPicture = async (
  ctx: Context,
  worldId: string,
  pictureUrl: string,
): Promise<{ answer: TaggedWorld; previous: string | null }> => {
  const before = await updateWorld(ctx, worldId, async (tx, row, now) => {
    await tx.update(launchContexts).set({ pictureUrl }).where(eq(launchContexts.worldId, worldId))
    return { pictureUrl, revision: row.revision + 1, updatedAt: now }
  })
  return { answer: await getWorld(ctx, worldId), previous: before.pictureUrl }
}

/**
 * Starts a new run, whatever the state. Throws a 409 at maxRunningCapacity and a 422 for a build that does not resolve.
 */
export const startWorld = async (ctx: Context, worldId: string): Promise<void> => {
  await updateWorld(ctx, worldId, async (tx, row, now) => {
    const build = await resolveBuild(tx, ctx.organizationId, row.runtime.build)
    await checkRunningCapacity(ctx, tx, row)
    return toStartColumns(row, { runId: ctx.newId('run'), now, build })
  })
}

/** Stops a world. The phase is Stopped at once; the server drains afterwards. */
export const stopWorld = async (ctx: Context, worldId: string): Promise<void> => {
  await updateWorld(ctx, worldId, async (_, row, now) => toStopColumns(row, { now }))
}

/** Lists the runs of a world, oldest first. */
export const listDeployments = async (
  ctx: Context,
  { worldId, statuses, page }: { worldId: string; statuses: readonly DeploymentStatus[]; page: Page },
): Promise<Paged<DeploymentAnswer>> => {
  const { organizationId, projectId } = ctx
  if (!(await ctx.scopeExists('world', { organizationId, projectId, worldId }))) throw notFound()
  const rows = await ctx.db
    .select()
    .from(deployments)
    .where(
      and(
        eq(deployments.organizationId, organizationId),
        eq(deployments.projectId, projectId),
        eq(deployments.worldId, worldId),
        statuses.length === 0 ? undefined : inArray(deployments.status, [...statuses]),
        whereAfterCursor(deployments, page),
      ),
    )
    .orderBy(...listOrder(deployments))
    .limit(page.limit + 1)
  const { items, ...next } = toPaged(rows, page)
  return { ...next, items: items.map((row) => presentDeployment(row, ctx.publicUrl)) }
}

const whereWorld = (ctx: Context, worldId: string): SQL | undefined =>
  and(
    eq(worlds.organizationId, ctx.organizationId),
    eq(worlds.projectId, ctx.projectId),
    eq(worlds.id, worldId),
    isNull(worlds.deletingAt),
  )

/** Changes the locked row, marks it dirty in the same transaction, and wakes the push. Returns the row as it was. */
const updateWorld = async (
  ctx: Context,
  worldId: string,
  decide: (tx: Transaction, row: WorldRow, now: Date) => Promise<Partial<WorldRow> & { revision: number }>,
): Promise<WorldRow> => {
  const nowMs = ctx.clock.now()
  const before = await ctx.db.transaction(async (tx) => {
    const [row] = await tx.select().from(worlds).where(whereWorld(ctx, worldId)).for('update')
    if (row === undefined) throw notFound()
    const columns = await decide(tx, row, new Date(nowMs))
    await tx.update(worlds).set(columns).where(eq(worlds.id, worldId))
    await markDirty(tx, { kind: 'world', id: worldId, revision: columns.revision }, nowMs)
    return row
  })
  ctx.wakeSync()
  return before
}

/** Returns the cluster for a group and region. Throws a 400 if there is none. */
const selectCluster = (ctx: Context, { group, region }: Compute): string => {
  const cluster = ctx.clusterOf({ group, region })
  if (cluster !== undefined) return cluster
  const errors = [{ path: '/compute', message: `no cluster serves group ${group} in region ${region}` }]
  throw new Problem(
    'invalid_request',
    `No cluster serves group ${group} in region ${region}. Choose another group or region.`,
    { errors },
  )
}

/**
 * Throws a 404 if the project does not exist, a 403 for a size that is not allowed and a 409 at maxWorlds. A share lock
 * on the project's row prevents its deletion. The lock on the organization's row makes concurrent creates count each
 * other. All transactions lock in the order project, world, organization, which prevents deadlocks.
 */
const checkNewWorld = async (
  ctx: Context,
  tx: Transaction,
  size: Parameters<typeof checkWorldSize>[0],
): Promise<void> => {
  const { organizationId, projectId } = ctx
  const [project] = await tx
    .select({ id: projects.id })
    .from(projects)
    .where(and(eq(projects.organizationId, organizationId), eq(projects.id, projectId), isNull(projects.deletingAt)))
    .for('share')
  if (project === undefined) throw notFound()
  const limits = await lockLimits(ctx, tx)
  checkWorldSize(size, { limits, ...ctx.principal })
  const [existing] = await tx
    .select({ worlds: count() })
    .from(worlds)
    .where(and(eq(worlds.organizationId, organizationId), isNull(worlds.deletingAt)))
  if ((existing?.worlds ?? 0) >= limits.maxWorlds) {
    throw new Problem(
      'limit_reached',
      `The organization has ${limits.maxWorlds} worlds, its limit maxWorlds. Delete one first.`,
    )
  }
}

/** Throws a 409 if a world has more live bots than this capacity. The world's row must be locked. */
const checkCapacityForBots = async (
  ctx: Context,
  tx: Transaction,
  worldId: string,
  capacity: number,
): Promise<void> => {
  const live = await ctx.countLiveBots(tx, worldId)
  if (live > capacity) {
    throw new Problem(
      'limit_reached',
      `The world has ${live} bots, and the scaling profile allows ${capacity}. Remove bots first.`,
    )
  }
}

/** Throws a 409 if the start would exceed maxRunningCapacity. Other worlds count with the capacity at their start. */
const checkRunningCapacity = async (ctx: Context, tx: Transaction, row: WorldRow): Promise<void> => {
  const { maxRunningCapacity } = await lockLimits(ctx, tx)
  const [running] = await tx
    .select({ capacity: sql<number>`coalesce(sum(${worlds.runningCapacity}), 0)::int` })
    .from(worlds)
    .where(
      and(
        eq(worlds.organizationId, ctx.organizationId),
        inArray(worlds.phase, ['Starting', 'Active']),
        isNull(worlds.deletingAt),
        sql`${worlds.id} <> ${row.id}`,
      ),
    )
  const wanted = (running?.capacity ?? 0) + row.estimatedCapacity
  if (wanted > maxRunningCapacity) {
    const detail = `Running worlds would have capacity ${wanted}, above maxRunningCapacity ${maxRunningCapacity}. Stop one first.`
    throw new Problem('limit_reached', detail)
  }
}
