import { and, eq, inArray, isNull } from 'drizzle-orm'
import { authoriseListing, pathOf } from '#api/domain/access/authorise.ts'
import type { Context } from '#api/domain/access/context.ts'
import { strongestVerb } from '#api/domain/access/permissions.ts'
import {
  readWorlds,
  refuseAbsentScope,
  verbOn,
  whereInScope,
  whereReadable,
} from '#api/domain/worlds/listing/service.ts'
import { presentPublicWorld } from '#api/domain/worlds/present.ts'
import type { PublicWorldAnswer } from '#api/domain/worlds/schema.ts'
import { deployments, launchContexts, worlds } from '#api/domain/worlds/table.ts'
import type { Page, Paged } from '#api/platform/http/page.ts'
import { Problem } from '#api/platform/http/problem.ts'
import { deploymentIdOfRun } from '#shared/ids.ts'
import { presentTravelLocation } from './present.ts'
import type { AccessAnswer, TravelLocation } from './schema.ts'

/** Lists the public and active worlds of all organizations. */
export const listPublicWorlds = async (ctx: Context, page: Page): Promise<Paged<PublicWorldAnswer>> => {
  const shown = and(eq(launchContexts.isPublic, true), eq(launchContexts.isActive, true), eq(worlds.phase, 'Active'))
  const { items, ...next } = await readWorlds(ctx, page, shown)
  return { ...next, items: items.map(({ world, context }) => presentPublicWorld(world, context, verbOn(ctx, world))) }
}

/** Lists where the users of a key may travel: Active worlds that it can read, whose launch context is active. */
export const listTravelLocations = async (ctx: Context, page: Page): Promise<Paged<TravelLocation>> => {
  if (ctx.organizationId !== '') authoriseListing(ctx)
  const open = and(eq(launchContexts.isActive, true), eq(worlds.phase, 'Active'))
  const { items, ...next } = await readWorlds(ctx, page, and(whereInScope(ctx), whereReadable(ctx), open))
  if (items.length === 0 && ctx.organizationId !== '') await refuseAbsentScope(ctx)
  const runs = items.flatMap(({ world }) => (world.runId === null ? [] : [deploymentIdOfRun(world.runId)]))
  const running = runs.length === 0 ? [] : await ctx.db.select().from(deployments).where(inArray(deployments.id, runs))
  const byWorld = new Map(running.map((each) => [each.worldId, each]))
  const located = items.map(({ world, context }) =>
    presentTravelLocation({ world, context, deployment: byWorld.get(world.id) }, ctx.publicUrl),
  )
  return { ...next, items: located }
}

/** Tells whether a user can enter a world; a world that is not there cannot be entered. */
export const getAccess = async (ctx: Context, input: { worldId: string; userId: string }): Promise<AccessAnswer> => {
  const { principal, organizationId } = ctx
  const manages = strongestVerb(principal.permissions, pathOf(organizationId)) === '*'
  if (principal.id !== input.userId && !manages) {
    throw new Problem('forbidden', 'A token speaks for its own subject alone.')
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
  const member = principal.tenantId === organizationId && strongestVerb(principal.permissions, path) !== undefined
  const hasAccess =
    row?.context.isActive === true &&
    (row.phase === 'Starting' || row.phase === 'Active') &&
    row.admission.policy !== 'Closed' &&
    (row.context.isPublic || member)
  return { userId: input.userId, hasAccess }
}
