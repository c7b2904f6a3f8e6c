import { and, eq, inArray, isNull, or, sql } from 'drizzle-orm'
import { authoriseListing } from '#api/domain/access/authorise.ts'
import type { Context } from '#api/domain/access/context.ts'
import { projects } from '#api/domain/projects/table.ts'
import {
  checkScopeExists,
  readWorlds,
  verbOnWorld,
  whereInScope,
  whereReadable,
} from '#api/domain/worlds/listing/listing.ts'
import { presentPublicWorld } from '#api/domain/worlds/present.ts'
import type { PublicWorldAnswer } from '#api/domain/worlds/schema.ts'
import { deployments, launchContexts, worlds } from '#api/domain/worlds/table.ts'
import { wakeForUser } from '#api/domain/worlds/wake.ts'
import { wakerOf } from '#api/domain/worlds/waker.ts'
import type { Queries } from '#api/platform/database/client.ts'
import type { Page, Paged } from '#api/platform/http/page.ts'
import { notFound, Problem } from '#api/platform/http/problem.ts'
import { isAsleep } from '#shared/domain/idle.ts'
import { pathOf, strongestVerb } from '#shared/domain/permissions.ts'
import { isRunning, joinablePhases } from '#shared/domain/phases.ts'
import { deploymentIdOfRun } from '#shared/ids.ts'
import { presentTravelLocation } from './present.ts'
import type { AccessAnswer, TravelLocation } from './schema.ts'

/** Lists the public and active worlds of all organizations. */
export const listPublicWorlds = async (ctx: Context, page: Page): Promise<Paged<PublicWorldAnswer>> => {
  const wherePublic = and(
    eq(launchContexts.isPublic, true),
    eq(launchContexts.isActive, true),
    inArray(worlds.phase, joinablePhases),
  )
  const { items, ...next } = await readWorlds(ctx, page, { where: wherePublic, organizationId: '' })
  return {
    ...next,
    items: items.map(({ world, context }) => presentPublicWorld(world, context, verbOnWorld(ctx, world))),
  }
}

/** Returns a context whose organization is that of its project, if the headers name only a project. */
const withOrganization = async (ctx: Context): Promise<Context> => {
  if (ctx.organizationId !== '' || ctx.projectId === '') return ctx
  const [project] = await ctx.db
    .select({ organizationId: projects.organizationId })
    .from(projects)
    .where(and(eq(projects.id, ctx.projectId), isNull(projects.deletingAt)))
  if (project === undefined) throw notFound()
  return { ...ctx, ...project }
}

/** The map of a run. It is read alone, because other settings of a deployment can be large. */
const map = sql<string>`${deployments.runtime} ->> 'mapName'`

/** Selects the worlds that sleep and that users may wake, as `isAsleep` does. */
const whereWakeable = and(
  eq(worlds.state, 'Running'),
  eq(worlds.phase, 'Stopped'),
  sql`${worlds.idle} ->> 'asleepSince' is not null`,
  sql`${worlds.runtime} ->> 'wakeOnAccess' = 'Access'`,
)

/**
 * Lists the Active worlds with an active launch context that the caller can read. With `includesIdle`, also those that sleep and that
 * the access check wakes.
 */
export const listTravelLocations = async (
  request: Context,
  page: Page,
  { includesIdle }: { includesIdle: boolean },
): Promise<Paged<TravelLocation>> => {
  const ctx = await withOrganization(request)
  if (ctx.organizationId !== '') authoriseListing(ctx)
  const whereJoinable = inArray(worlds.phase, joinablePhases)
  const whereOpen = and(
    eq(launchContexts.isActive, true),
    includesIdle ? or(whereJoinable, whereWakeable) : whereJoinable,
  )
  const where = and(whereInScope(ctx), whereReadable(ctx), whereOpen)
  const { items, ...next } = await readWorlds(ctx, page, { where, organizationId: ctx.organizationId })
  if (items.length === 0 && ctx.organizationId !== '') await checkScopeExists(ctx)
  const deploymentIds = items.flatMap(({ world }) =>
    world.runId === null || !isRunning(world) ? [] : [deploymentIdOfRun(world.runId)],
  )
  const rows =
    deploymentIds.length === 0
      ? []
      : await ctx.db
          .select({ id: deployments.id, worldId: deployments.worldId, map })
          .from(deployments)
          .where(inArray(deployments.id, deploymentIds))
  const deploymentOfWorld = new Map(rows.map((each) => [each.worldId, each]))
  const locations = items.map(({ world, context }) =>
    presentTravelLocation({ world, context, deployment: deploymentOfWorld.get(world.id) }, ctx.publicUrl),
  )
  return { ...next, items: locations }
}

/** Reads what decides who may enter a world of the scope, or undefined if it has none with this id. */
const readEntry = async (db: Queries, ctx: Context, worldId: string) => {
  const [row] = await db
    .select({
      state: worlds.state,
      phase: worlds.phase,
      idle: worlds.idle,
      wakeOnAccess: sql<string | null>`${worlds.runtime} ->> 'wakeOnAccess'`,
      admission: worlds.admission,
      isActive: launchContexts.isActive,
      isPublic: launchContexts.isPublic,
    })
    .from(worlds)
    .innerJoin(launchContexts, eq(launchContexts.worldId, worlds.id))
    .where(
      and(whereInScope(ctx), eq(worlds.projectId, ctx.projectId), eq(worlds.id, worldId), isNull(worlds.deletingAt)),
    )
  return row
}

/**
 * Reports whether a user can enter a world; false for an absent world. With `wakes`, starts a world that sleeps for a user who could
 * enter it if it ran, or says why that was refused. Throws a 403 for another user's token.
 */
export const getAccess = async (
  ctx: Context,
  { worldId, userId, wakes }: { worldId: string; userId: string; wakes: boolean },
): Promise<AccessAnswer> => {
  const { principal, organizationId } = ctx
  const isAdministrator = strongestVerb(principal.permissions, pathOf(organizationId)) === '*'
  if (principal.id !== userId && !isAdministrator) {
    throw new Problem('forbidden', `The token belongs to ${principal.id}, who may not read the access of other users.`)
  }
  const path = pathOf(organizationId, ctx.projectId, worldId)
  const isMember =
    principal.organizationId === organizationId && strongestVerb(principal.permissions, path) !== undefined
  const readAccess = async (db: Queries) => {
    const entry = await readEntry(db, ctx, worldId)
    const mayEnter = entry?.isActive === true && entry.admission.policy !== 'Closed' && (entry.isPublic || isMember)
    return {
      hasAccess: mayEnter && isRunning(entry),
      mayWake: mayEnter && entry.wakeOnAccess === 'Access' && isAsleep(entry),
    }
  }
  const { hasAccess, mayWake } = await readAccess(ctx.db)
  if (!mayWake || !wakes) return { userId, hasAccess }
  const refusal = await wakeForUser(ctx, worldId, {
    wokenBy: wakerOf(principal, userId),
    mayWake: async (_, tx) => (await readAccess(tx)).mayWake,
  })
  const after = await readAccess(ctx.db)
  const isRefused = !after.hasAccess && refusal !== undefined && refusal.code !== 'not_found'
  return { userId, hasAccess: after.hasAccess, ...(isRefused && { reason: toReason(refusal, isMember) }) }
}

/** Returns why a world was not woken, as a sentence for a user. Other organizations do not see limits and builds. */
const toReason = ({ code, message, headers }: Problem, isMember: boolean): string => {
  if (!isMember && code !== 'rate_limited') return 'The world cannot be started now.'
  // The answer of an access check has no such header.
  return message.replace('after the time in Retry-After', `in ${headers['retry-after']} s`)
}
