import { and, eq, getTableColumns, inArray, isNull, type SQL } from 'drizzle-orm'
import type { Context, LockRevision } from '#api/domain/access/context.ts'
import type { Limits } from '#api/domain/access/limits.ts'
import { findBuild } from '#api/domain/builds/builds.ts'
import { lockLimits, lockSettings } from '#api/domain/organizations/organizations.ts'
import { removeUpload } from '#api/domain/pictures/pictures.ts'
import { lockProject } from '#api/domain/projects/projects.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { countPresentAndKept } from '#api/platform/database/columns.ts'
import { listOrder, whereAfterCursor } from '#api/platform/database/page.ts'
import { readPage } from '#api/platform/database/readPage.ts'
import { rowsOf } from '#api/platform/database/rows.ts'
import { statement, statementFor } from '#api/platform/database/statement.ts'
import { type Page, type Paged, toPaged } from '#api/platform/http/page.ts'
import { type InputFault, notFound, Problem } from '#api/platform/http/problem.ts'
import { createOnce } from '#api/platform/idempotency/once.ts'
import { markDirty } from '#api/platform/outbox/outbox.ts'
import { isAsleep } from '#shared/domain/idle.ts'
import { isRunning } from '#shared/domain/phases.ts'
import { hasService } from '#shared/domain/ports.ts'
import type { DeploymentStatus } from '#shared/enumerations.ts'
import { isServiceName, serviceNameAdvice } from '#shared/kube/names.ts'
import type { ScalingProfileName } from '#shared/scalingProfiles.ts'
import { changeWorld, writeChange } from './change.ts'
import { buildWorldRows } from './create.ts'
import { explainIdle, withDefaultIdle } from './idle.ts'
import { getWorld, type TaggedWorld } from './lookup.ts'
import { movesAtOnce, toMoveColumns } from './move.ts'
import { explainNetworking, explainQuery } from './networking.ts'
import { applyPatch } from './patch.ts'
import { presentDeployment } from './present.ts'
import { checkRowBytes, rowBytes } from './rowBytes.ts'
import type { DeploymentAnswer } from './runs/schema.ts'
import { explainSchedule, rescheduled } from './schedule.ts'
import type { Compute, CreateWorld, PatchWorld } from './schema.ts'
import { checkWorldSize, explainProfileForBots } from './size.ts'
import { deployments, launchContexts, type WorldRow, worlds } from './table.ts'
import { toStop } from './transitions.ts'

/** Creates a world and its launch context. Sync creates the namespace and the resource after the commit. */
export const createWorld = async (
  ctx: Context,
  input: CreateWorld,
): Promise<{ worldId: string; launchContextId: string }> => {
  const cluster = selectCluster(ctx, input.compute)
  refuseFault(
    explainNetworking(input.networking, ctx) ?? explainQuery(input) ?? explainSchedule(input.runtime.schedule),
  )
  const created = await createOnce(ctx, async (tx, now) => {
    const { world, launchContext } = buildWorldRows(input, { ...ctx, cluster, now })
    const idleStopMinutes = await checkNewWorld(ctx, tx, {
      profile: input.networking.scaling.profile,
      capacity: launchContext.details.capacity,
    })
    world.runtime = await withIdle(tx, { ...world, program: {} }, idleStopMinutes)
    checkRowBytes(rowBytes(world, launchContext))
    // One round trip, since the organization's row is locked meanwhile. Postgres executes them in this order.
    await Promise.all([
      insertWorld(tx, worldRows.encode(world)),
      insertContext(tx, contextRows.encode(launchContext)),
      markDirty(tx, { kind: 'world', id: world.id, revision: 1, traceparent: ctx.traceparent }),
    ])
    return { worldId: world.id, launchContextId: launchContext.id }
  })
  ctx.wakeSync()
  return created
}

// Statements, because each create adds rows of 50 columns.
const [worldRows, contextRows] = [rowsOf(worlds), rowsOf(launchContexts)]
const [insertWorld, insertContext] = [statementFor(worldRows.insert), statement(contextRows.insert())]

/** Selects a world of the scope that is not deleted. */
export const whereWorld = (
  { organizationId, projectId }: Pick<Context, 'organizationId' | 'projectId'>,
  worldId: string,
): SQL | undefined =>
  and(
    eq(worlds.organizationId, organizationId),
    eq(worlds.projectId, projectId),
    eq(worlds.id, worldId),
    isNull(worlds.deletingAt),
  )

/** Locks the world of the path and returns its revision. */
export const lockWorldRevision: LockRevision = async (tx, ctx, { worldId = '' }) => {
  const { revision } = worlds
  const [row] = await tx.select({ revision }).from(worlds).where(whereWorld(ctx, worldId)).for('update')
  return row?.revision
}

/** Changes a world. Settings of a run take effect at the next start, and the status message names the pending ones. */
export const patchWorld = async (
  ctx: Context,
  { worldId, changes }: { worldId: string; changes: PatchWorld },
): Promise<TaggedWorld> => {
  if (changes.compute !== undefined) selectCluster(ctx, changes.compute)
  if (changes.networking !== undefined) refuseFault(explainNetworking(changes.networking, ctx))
  const before = await changeWorld(ctx, worldId, async (tx, row, made) => {
    const [context] = await tx.select().from(launchContexts).where(eq(launchContexts.worldId, worldId))
    if (context === undefined) throw notFound()
    const next = applyPatch(row, context, changes)
    refuseFault(explainQuery(next.world) ?? explainSchedule(changes.runtime?.schedule))
    const nextAction = rescheduled(row, next.world.runtime, made.now)
    if (changes.runtime !== undefined) await checkIdle(tx, { ...row, ...next.world })
    checkRowBytes(rowBytes({ ...row, ...next.world }, next.context), rowBytes(row, context))
    const { profile } = next.world.networking.scaling
    if (changes.networking ?? changes.admission ?? changes.runtime) {
      checkWorldSize(
        { profile, capacity: next.world.admission.capacity },
        { limits: await lockLimits(ctx, tx), ...ctx.principal },
      )
    }
    if (changes.networking !== undefined) checkStrategy(row, changes.networking)
    await checkProfileForBots(ctx, tx, row, profile)
    await tx.update(launchContexts).set(next.context).where(eq(launchContexts.worldId, worldId))
    const moves = changes.compute !== undefined && movesAtOnce(row)
    const move = moves ? toMoveColumns({ ...row, ...next.world }, ctx.clusterOf) : {}
    await writeChange(
      tx,
      row,
      { columns: { ...next.world, ...move, nextAction, revision: row.revision + 1, updatedAt: made.now } },
      made,
    )
  })
  const after = await getWorld(ctx, worldId)
  if (before.pictureUrl !== (after.body.pictureUrl ?? null)) await removeUpload(ctx, worldId, before.pictureUrl)
  return after
}

/** Sets the URL of a world's picture. Returns the previous URL, or null. */
export const setWorldPicture = async (
  ctx: Context,
  worldId: string,
  pictureUrl: string,
): Promise<{ answer: TaggedWorld; previous: string | null }> => {
  const before = await changeWorld(ctx, worldId, async (tx, row, made) => {
    await tx.update(launchContexts).set({ pictureUrl }).where(eq(launchContexts.worldId, worldId))
    await writeChange(tx, row, { columns: { pictureUrl, revision: row.revision + 1, updatedAt: made.now } }, made)
  })
  return { answer: await getWorld(ctx, worldId), previous: before.pictureUrl }
}

/** Stops a world, unless `needs` returns false for the locked row. The phase is Stopped at once; the server drains afterwards. */
export const stopWorld = async (
  ctx: Context,
  worldId: string,
  { needs }: { needs?: (row: WorldRow) => boolean } = {},
): Promise<void> => {
  await changeWorld(ctx, worldId, async (tx, row, made) => {
    if (needs?.(row) === false) return
    const stop = toStop(row, made)
    await writeChange(tx, row, isRunning(row) || isAsleep(row) ? stop : { ...stop, events: [] }, made)
  })
}

/** Lists the runs of a world, oldest first. */
export const listDeployments = async (
  ctx: Context,
  { worldId, statuses, page }: { worldId: string; statuses: readonly DeploymentStatus[]; page: Page },
): Promise<Paged<DeploymentAnswer>> => {
  const { organizationId, projectId } = ctx
  if (!(await ctx.scopeExists('world', { organizationId, projectId, worldId }))) throw notFound()
  const read = await readPage(ctx, getTableColumns(deployments), {
    from: deployments,
    where: and(
      eq(deployments.organizationId, organizationId),
      eq(deployments.projectId, projectId),
      eq(deployments.worldId, worldId),
      statuses.length === 0 ? undefined : inArray(deployments.status, [...statuses]),
      whereAfterCursor(deployments, page),
    ),
    orderBy: listOrder(deployments),
    limit: page.limit,
  })
  const { items, ...next } = toPaged(read)
  return { ...next, items: items.map((row) => presentDeployment(row, ctx.publicUrl)) }
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

/** Throws a 400 for a fault of a body, if there is one. */
const refuseFault = (fault: InputFault | undefined): void => {
  if (fault !== undefined) throw new Problem('invalid_request', fault.message, { errors: [fault] })
}

type Sleeper = Pick<WorldRow, 'organizationId' | 'program' | 'runtime'>

/** Returns a world with the build that a start would run now. An unresolved build has no program. */
const withBuild = async <Row extends Sleeper>(tx: Transaction, row: Row) => {
  const build = await findBuild(tx, row.organizationId, row.runtime.build)
  return { ...row, resolvedBuild: typeof build === 'string' ? null : build }
}

/** Returns the runtime of a new world with the default of its organization. Throws a 400 for idleStopMinutes without players. */
const withIdle = async (tx: Transaction, row: Sleeper, byDefault: number | null): Promise<WorldRow['runtime']> => {
  if ((row.runtime.idleStopMinutes ?? byDefault) === null) return row.runtime
  const next = await withBuild(tx, row)
  refuseFault(explainIdle(next))
  return withDefaultIdle(next, byDefault)
}

/** Throws a 400 for idleStopMinutes with a program that does not say its players: that of the last run, or of a start now. */
const checkIdle = async (tx: Transaction, row: WorldRow): Promise<void> => {
  if (row.runtime.idleStopMinutes === undefined) return
  refuseFault(explainIdle(row) ?? explainIdle(await withBuild(tx, row)))
}

/** Throws a 400 for a strategy whose Service cannot have the name of the world's resource, as the definition does. */
const checkStrategy = ({ resourceName }: WorldRow, { strategy }: WorldRow['networking']): void => {
  if (!hasService(strategy) || isServiceName(resourceName)) return
  const message = `needs a Service named ${resourceName}, as the World is: ${serviceNameAdvice}`
  throw new Problem('invalid_request', `networking.strategy ${message}.`, {
    errors: [{ path: '/networking/strategy', message }],
  })
}

/**
 * Returns the default idleStopMinutes of the organization, or null. Throws a 404 if the project does not exist, a 403 for a size that is
 * not allowed and a 409 at maxWorlds. A share lock on the project's row prevents its deletion. The lock on the organization's row makes
 * concurrent creates count each other. Transactions lock in the order project, world, organization, except the deletion of an organization.
 */
const checkNewWorld = async (
  ctx: Context,
  tx: Transaction,
  size: Parameters<typeof checkWorldSize>[0],
): Promise<number | null> => {
  // One round trip. Postgres executes them in this order, so that the count sees what earlier holders of the lock committed.
  const [isProject, { limits, idleStopMinutes }, count] = await Promise.all([
    lockProject(tx, ctx),
    lockSettings(ctx, tx),
    countWorlds(tx, ctx.organizationId),
  ])
  if (!isProject) throw notFound()
  checkWorldSize(size, { limits, ...ctx.principal })
  refuseTooManyWorlds(count, limits)
  return idleStopMinutes
}

/** An organization keeps at least this many deleted worlds, and up to maxWorlds. */
const minKeptWorlds = 100

/** The number of an organization's worlds: those that are not deleted, and the deleted ones that are kept. */
type WorldCount = { readonly present: number; readonly kept: number }

const countWorlds = async (tx: Transaction, organizationId: string): Promise<WorldCount> => {
  const [count] = await tx
    .select(countPresentAndKept(worlds))
    .from(worlds)
    .where(eq(worlds.organizationId, organizationId))
    .execute()
  return count ?? { present: 0, kept: 0 }
}

/**
 * Throws a 409 if the organization has its maximum of worlds, or keeps too many deleted ones. The organization's row must
 * be locked.
 */
export const checkWorldCount = async (
  tx: Transaction,
  organizationId: string,
  limits: Pick<Limits, 'maxWorlds'>,
): Promise<void> => refuseTooManyWorlds(await countWorlds(tx, organizationId), limits)

const refuseTooManyWorlds = ({ present, kept }: WorldCount, { maxWorlds }: Pick<Limits, 'maxWorlds'>): void => {
  if (present >= maxWorlds) {
    throw new Problem(
      'limit_reached',
      `The organization has ${maxWorlds} worlds, which is its limit (maxWorlds). Delete one first.`,
    )
  }
  const maxRows = maxWorlds + Math.max(maxWorlds, minKeptWorlds)
  if (present + kept >= maxRows) {
    const detail = `The organization has ${present} worlds and keeps ${kept} deleted ones, together its maximum of ${maxRows}. Purge deleted worlds first.`
    throw new Problem('limit_reached', detail)
  }
}

/** Throws a 409 if the bots of a world do not fit into its next scaling profile. The world's row must be locked. */
const checkProfileForBots = async (
  ctx: Context,
  tx: Transaction,
  { id, networking }: WorldRow,
  next: ScalingProfileName,
): Promise<void> => {
  const { profile } = networking.scaling
  if (profile === next) return
  const bots = await ctx.readWorldBots(tx, id)
  const refusal = explainProfileForBots(ctx.profiles[profile], ctx.profiles[next], bots)
  if (refusal !== undefined) throw new Problem('limit_reached', refusal)
}
