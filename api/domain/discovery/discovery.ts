import { and, eq, inArray, isNull, sql } from 'drizzle-orm'
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
import type { Page, Paged } from '#api/platform/http/page.ts'
import { notFound, Problem } from '#api/platform/http/problem.ts'
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

/** Lists the Active worlds with an active launch context that the caller can read. */
export const listTravelLocations = async (request: Context, page: Page): Promise<Paged<TravelLocation>> => {
  const ctx = await withOrganization(request)
  if (ctx.organizationId !== '') authoriseListing(ctx)
  const whereOpen = and(eq(launchContexts.isActive, true), inArray(worlds.phase, joinablePhases))
  const where = and(whereInScope(ctx), whereReadable(ctx), whereOpen)
  const { items, ...next } = await readWorlds(ctx, page, { where, organizationId: ctx.organizationId })
  if (items.length === 0 && ctx.organizationId !== '') await checkScopeExists(ctx)
  const deploymentIds = items.flatMap(({ world }) => (world.runId === null ? [] : [deploymentIdOfRun(world.runId)]))
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

/** Reports whether a user can enter a world; false for an absent world. Throws a 403 for another user's token. */
export const getAccess = async (ctx: Context, input: { worldId: string; userId: string }): Promise<AccessAnswer> => {
  const { principal, organizationId } = ctx
  const isAdministrator = strongestVerb(principal.permissions, pathOf(organizationId)) === '*'
  if (principal.id !== input.userId && !isAdministrator) {
    throw new Problem('forbidden', `The token belongs to ${principal.id}, who may not read the access of other users.`)
  }
  const [row] = await ctx.db
    .select({ phase: worlds.phase, admission: worlds.admission, context: launchContexts })
    .from(worlds)
    .innerJoin(launchContexts, eq(launchContexts.worldId, worlds.id))
    .where(
      and(
        whereInScope(ctx),
        eq(worlds.projectId, ctx.projectId),
        eq(worlds.id, input.worldId),
        isNull(worlds.deletingAt),
      ),
    )
  const path = pathOf(organizationId, ctx.projectId, input.worldId)
  const isMember =
    principal.organizationId === organizationId && strongestVerb(principal.permissions, path) !== undefined
  const hasAccess =
    row?.context.isActive === true &&
    isRunning(row) &&
    row.admission.policy !== 'Closed' &&
    (row.context.isPublic || isMember)
  return { userId: input.userId, hasAccess }
}
