import { and, asc, eq, gt, inArray, isNull, or, type SQL } from 'drizzle-orm'
import { authorise, pathOf } from '#api/auth/authorise.ts'
import { strongestVerb } from '#api/auth/permissions.ts'
import { markDirty } from '#api/cluster/outbox.ts'
import type { Context } from '#api/context.ts'
import type { Transaction } from '#api/db/client.ts'
import { notFound, Problem } from '#api/errors.ts'
import { organizations } from '#api/organizations/table.ts'
import { projects } from '#api/projects/table.ts'
import type { DeploymentStatus } from '#shared/enumerations.ts'
import { newWorldRows } from './create.ts'
import { presentDeployment, presentWorld } from './present.ts'
import type { CreateWorld, DeploymentAnswer, PatchWorld, WorldAnswer } from './schema.ts'
import { deployments, launchContexts, type WorldRow, worlds } from './table.ts'
import { startColumns, stopColumns } from './transitions.ts'

/** A world with the tag of its state. */
export type TaggedWorld = { world: WorldAnswer; row: WorldRow }
/** A place in a list: what comes after it is the next page. */
export type Cursor = { createdAt: Date; id: string }
export type Page = { limit: number; after?: Cursor }

const pathTo = (ctx: Context, worldId?: string): string => pathOf(ctx.organizationId, ctx.projectId, worldId)

const found = (ctx: Context, worldId: string): SQL | undefined =>
  and(
    eq(worlds.organizationId, ctx.organizationId),
    eq(worlds.projectId, ctx.projectId),
    eq(worlds.id, worldId),
    isNull(worlds.deletingAt),
  )

/** Makes a world and its launch context. The namespace and the resource follow by themselves. */
export const createWorld = async (
  ctx: Context,
  input: CreateWorld,
): Promise<{ worldId: string; launchContextId: string }> => {
  authorise(ctx, pathTo(ctx), 'w')
  const nowMs = ctx.clock.now()
  const { world, launchContext } = newWorldRows(input, { ...ctx, now: new Date(nowMs) })
  await ctx.db.transaction(async (tx) => {
    await tx.insert(worlds).values(world)
    await tx.insert(launchContexts).values(launchContext)
    await markDirty(tx, { kind: 'world', id: world.id, revision: 1 }, nowMs)
  })
  ctx.wakeSync()
  return { worldId: world.id, launchContextId: launchContext.id }
}

/** Reads one world. */
export const getWorld = async (ctx: Context, worldId: string): Promise<TaggedWorld> => {
  const verb = authorise(ctx, pathTo(ctx, worldId), 'r')
  const [row] = await ctx.db
    .select()
    .from(worlds)
    .innerJoin(launchContexts, eq(launchContexts.worldId, worlds.id))
    .where(found(ctx, worldId))
  if (row === undefined) throw notFound()
  return { world: presentWorld(row.worlds, row.launch_contexts, verb), row: row.worlds }
}

/** Lists the worlds of the organization, or of one project of it, that the caller can read; oldest first. */
export const listWorlds = async (
  ctx: Context,
  { limit, after }: Page,
): Promise<{ items: WorldAnswer[]; next?: Cursor }> => {
  const rows = await ctx.db
    .select()
    .from(worlds)
    .innerJoin(launchContexts, eq(launchContexts.worldId, worlds.id))
    .where(
      and(
        eq(worlds.organizationId, ctx.organizationId),
        ctx.projectId === '' ? undefined : eq(worlds.projectId, ctx.projectId),
        isNull(worlds.deletingAt),
        after &&
          or(
            gt(worlds.createdAt, after.createdAt),
            and(eq(worlds.createdAt, after.createdAt), gt(worlds.id, after.id)),
          ),
      ),
    )
    .orderBy(asc(worlds.createdAt), asc(worlds.id))
    .limit(limit + 1)
  if (rows.length === 0 && !(await scopeExists(ctx))) throw notFound()
  const page = rows.slice(0, limit)
  const items = page.flatMap(({ worlds: row, launch_contexts: context }) => {
    const verb = strongestVerb(ctx.principal.permissions, pathOf(row.organizationId, row.projectId, row.id))
    return verb === undefined ? [] : [presentWorld(row, context, verb)]
  })
  const last = page.at(-1)?.worlds
  return rows.length > limit && last ? { items, next: { createdAt: last.createdAt, id: last.id } } : { items }
}

/** Only an empty list needs the question whether its organization, and its project if one is named, exist at all. */
const scopeExists = async (ctx: Context): Promise<boolean> => {
  const found =
    ctx.projectId === ''
      ? await ctx.db
          .select({ id: organizations.id })
          .from(organizations)
          .where(eq(organizations.id, ctx.organizationId))
      : await ctx.db
          .select({ id: projects.id })
          .from(projects)
          .where(and(eq(projects.organizationId, ctx.organizationId), eq(projects.id, ctx.projectId)))
  return found.length > 0
}

/** Changes a world's name and description; what is left out stays. */
export const patchWorld = async (
  ctx: Context,
  { worldId, ifMatch, changes }: { worldId: string; ifMatch?: string; changes: PatchWorld },
): Promise<TaggedWorld> => {
  authorise(ctx, pathTo(ctx, worldId), 'w')
  await change(ctx, worldId, async (tx, row, now) => {
    if (ifMatch !== undefined && !matches(ifMatch, row)) {
      throw new Problem('precondition_failed', `The world is at revision ${row.revision}: read it again.`)
    }
    await tx
      .update(launchContexts)
      .set({ ...changes, worldId })
      .where(eq(launchContexts.worldId, worldId))
    return { ...changes, revision: row.revision + 1, updatedAt: now }
  })
  return getWorld(ctx, worldId)
}

/** Starts a new run, from any state. */
export const startWorld = async (ctx: Context, worldId: string): Promise<void> => {
  authorise(ctx, pathTo(ctx, worldId), 'w')
  await change(ctx, worldId, async (_, row, now) => {
    if (row.runtime.build !== undefined) throw unresolvable(row.runtime.build)
    return startColumns(row, { runId: ctx.newId('run'), now })
  })
}

/** Stops the world; its server drains afterwards. */
export const stopWorld = async (ctx: Context, worldId: string): Promise<void> => {
  authorise(ctx, pathTo(ctx, worldId), 'w')
  await change(ctx, worldId, async (_, row, now) => stopColumns(row, { now }))
}

/** Deletes the world: absent from now on, gone when its resource is. */
export const deleteWorld = async (ctx: Context, worldId: string): Promise<void> => {
  authorise(ctx, pathTo(ctx, worldId), 'w')
  await change(ctx, worldId, async (_, row, now) => ({ deletingAt: now, revision: row.revision + 1, updatedAt: now }))
}

/** Lists the runs of a world, oldest first. */
export const listDeployments = async (
  ctx: Context,
  { worldId, statuses }: { worldId: string; statuses: readonly DeploymentStatus[] },
): Promise<DeploymentAnswer[]> => {
  await getWorld(ctx, worldId)
  const rows = await ctx.db
    .select()
    .from(deployments)
    .where(
      and(
        eq(deployments.organizationId, ctx.organizationId),
        eq(deployments.projectId, ctx.projectId),
        eq(deployments.worldId, worldId),
        statuses.length === 0 ? undefined : inArray(deployments.status, [...statuses]),
      ),
    )
    .orderBy(asc(deployments.createdAt), asc(deployments.id))
    .limit(1_000)
  return rows.map((row) => presentDeployment(row, ctx.publicUrl))
}

/** Changes the locked row, marks it dirty in the same transaction, and wakes the push. */
const change = async (
  ctx: Context,
  worldId: string,
  decide: (tx: Transaction, row: WorldRow, now: Date) => Promise<Partial<WorldRow> & { revision: number }>,
): Promise<void> => {
  const nowMs = ctx.clock.now()
  await ctx.db.transaction(async (tx) => {
    const [row] = await tx.select().from(worlds).where(found(ctx, worldId)).for('update')
    if (row === undefined) throw notFound()
    const columns = await decide(tx, row, new Date(nowMs))
    await tx.update(worlds).set(columns).where(eq(worlds.id, worldId))
    await markDirty(tx, { kind: 'world', id: worldId, revision: columns.revision }, nowMs)
  })
  ctx.wakeSync()
}

/** If-Match compares what is wanted; what is observed changes by itself and is no reason to refuse an edit. */
const matches = (ifMatch: string, row: WorldRow): boolean =>
  ifMatch.split(',').some((tag) => tag.trim() === '*' || tag.trim().startsWith(`"${row.revision}.`))

const unresolvable = (build: NonNullable<WorldRow['runtime']['build']>): Problem => {
  const which = 'tag' in build ? `${build.channelId}:${build.tag}` : `with the content ${build.content.id}`
  return new Problem('build_unresolved', `There is no build ${which} in this organization.`)
}
