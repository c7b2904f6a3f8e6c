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
import { newWorldRows } from './create.ts'
import { patched } from './patch.ts'
import { presentDeployment, presentWorld } from './present.ts'
import type { Compute, CreateWorld, DeploymentAnswer, PatchWorld, WorldAnswer } from './schema.ts'
import { refuseSize } from './size.ts'
import { deployments, launchContexts, type WorldRow, worlds } from './table.ts'
import { startColumns, stopColumns } from './transitions.ts'

/** A world with the numbers that its tag is made of. */
export type TaggedWorld = { world: WorldAnswer; revision: number; statusVersion: number }

/** Makes a world and its launch context. The namespace and the resource follow by themselves. */
export const createWorld = async (
  ctx: Context,
  input: CreateWorld,
): Promise<{ worldId: string; launchContextId: string }> => {
  const cluster = clusterOf(ctx, input.compute)
  const made = await createOnce(ctx, async (tx, now) => {
    const { world, launchContext } = newWorldRows(input, { ...ctx, cluster, now })
    await refuseWorld(ctx, tx, { profile: input.networking.scaling.profile, capacity: launchContext.details.capacity })
    await tx.insert(worlds).values(world)
    await tx.insert(launchContexts).values(launchContext)
    await markDirty(tx, { kind: 'world', id: world.id, revision: 1 }, now.getTime())
    return { worldId: world.id, launchContextId: launchContext.id }
  })
  ctx.wakeSync()
  return made
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

/** Changes a world. What a running server was started with changes at the next start, and the status says so. */
export const patchWorld = async (
  ctx: Context,
  { worldId, ifMatch, changes }: { worldId: string; ifMatch: string | undefined; changes: PatchWorld },
): Promise<TaggedWorld> => {
  if (changes.compute !== undefined) clusterOf(ctx, changes.compute)
  const before = await change(ctx, worldId, async (tx, row, now) => {
    checkIfMatch(ifMatch, row)
    const [context] = await tx.select().from(launchContexts).where(eq(launchContexts.worldId, worldId))
    if (context === undefined) throw notFound()
    const next = patched(row, context, changes)
    const { profile } = next.world.networking.scaling
    if (changes.networking ?? changes.admission ?? changes.runtime) {
      refuseSize(
        { profile, capacity: next.world.admission.capacity },
        { limits: await lockLimits(ctx, tx), ...ctx.principal },
      )
    }
    const { estimatedCapacity } = next.world
    if (estimatedCapacity < row.estimatedCapacity) await refuseFewerThanBots(ctx, tx, worldId, estimatedCapacity)
    await tx.update(launchContexts).set(next.context).where(eq(launchContexts.worldId, worldId))
    return { ...next.world, revision: row.revision + 1, updatedAt: now }
  })
  const after = await getWorld(ctx, worldId)
  if (before.pictureUrl !== (after.world.pictureUrl ?? null)) await removeUpload(ctx, worldId, before.pictureUrl)
  return after
}

/** Saves where the picture of a world is; the address of the one before, if it had one. */
export const setWorldPicture = async (
  ctx: Context,
  worldId: string,
  pictureUrl: string,
): Promise<{ answer: TaggedWorld; previous: string | null }> => {
  const before = await change(ctx, worldId, async (tx, row, now) => {
    await tx.update(launchContexts).set({ pictureUrl }).where(eq(launchContexts.worldId, worldId))
    return { pictureUrl, revision: row.revision + 1, updatedAt: now }
  })
  return { answer: await getWorld(ctx, worldId), previous: before.pictureUrl }
}

/** Starts a new run, from any state. */
export const startWorld = async (ctx: Context, worldId: string): Promise<void> => {
  await change(ctx, worldId, async (tx, row, now) => {
    const build = await resolveBuild(tx, ctx.organizationId, row.runtime.build)
    await refuseRunning(ctx, tx, row)
    return startColumns(row, { runId: ctx.newId('run'), now, build })
  })
}

/** Stops the world; its server drains afterwards. */
export const stopWorld = async (ctx: Context, worldId: string): Promise<void> => {
  await change(ctx, worldId, async (_, row, now) => stopColumns(row, { now }))
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
const change = async (
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

/** The cluster of a place; a 400 for a place that leads nowhere. */
const clusterOf = (ctx: Context, { group, region }: Compute): string => {
  const cluster = ctx.clusterOf({ group, region })
  if (cluster !== undefined) return cluster
  const errors = [{ path: '/compute', message: `no cluster serves the group ${group} in ${region}` }]
  throw new Problem('invalid_request', 'There is no cluster at this place.', { errors })
}

/**
 * Refuses a world that the organization may not have. The project's row is shared, so that it is not deleted meanwhile;
 * the organization's is locked, so that of two creates at the same moment the second counts the first. Everywhere rows
 * are locked in the order project, world, organization, so that no two transactions wait for each other.
 */
const refuseWorld = async (ctx: Context, tx: Transaction, size: Parameters<typeof refuseSize>[0]): Promise<void> => {
  const { organizationId, projectId } = ctx
  const [project] = await tx
    .select({ id: projects.id })
    .from(projects)
    .where(and(eq(projects.organizationId, organizationId), eq(projects.id, projectId), isNull(projects.deletingAt)))
    .for('share')
  if (project === undefined) throw notFound()
  const limits = await lockLimits(ctx, tx)
  refuseSize(size, { limits, ...ctx.principal })
  const [counted] = await tx
    .select({ present: count() })
    .from(worlds)
    .where(and(eq(worlds.organizationId, organizationId), isNull(worlds.deletingAt)))
  if ((counted?.present ?? 0) >= limits.maxWorlds) {
    throw new Problem('limit_reached', `The organization has its ${limits.maxWorlds} worlds (maxWorlds).`)
  }
}

/** Throws a 409 where the live bots of a world, whose row is locked, need more than this capacity. */
const refuseFewerThanBots = async (ctx: Context, tx: Transaction, worldId: string, capacity: number): Promise<void> => {
  const live = await ctx.countLiveBots(tx, worldId)
  if (live > capacity) {
    throw new Problem('limit_reached', `The world has ${live} bots, above the ${capacity} of this scaling profile.`)
  }
}

/** Running worlds count with the capacity that their runs were started with: a PATCH takes effect at the next start. */
const refuseRunning = async (ctx: Context, tx: Transaction, row: WorldRow): Promise<void> => {
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
    const detail = `Running worlds would have the capacity ${wanted}, above maxRunningCapacity ${maxRunningCapacity}.`
    throw new Problem('limit_reached', detail)
  }
}
