import { and, eq, inArray, isNull, or, type SQL, sql } from 'drizzle-orm'
import { authoriseListing, pathOf } from '#api/domain/access/authorise.ts'
import type { Context } from '#api/domain/access/context.ts'
import { readableWorlds, strongestVerb } from '#api/domain/access/permissions.ts'
import { presentPublicWorld, presentWorld } from '#api/domain/worlds/present.ts'
import type { PublicWorldAnswer, WorldAnswer } from '#api/domain/worlds/schema.ts'
import { deployments, launchContexts, worlds } from '#api/domain/worlds/table.ts'
import { after, inOrder } from '#api/platform/database/page.ts'
import { cut, type Page, type Paged } from '#api/platform/http/page.ts'
import { notFound, Problem } from '#api/platform/http/problem.ts'
import { deploymentIdOfRun } from '#shared/ids.ts'
import { presentTravelLocation } from './present.ts'
import type { AccessAnswer, TravelLocation } from './schema.ts'

/** Lists the worlds of the organization, or of one project of it, that the caller can read; oldest first. */
export const listWorlds = async (ctx: Context, page: Page): Promise<Paged<WorldAnswer>> => {
  authoriseListing(ctx)
  const { items, ...next } = await read(ctx, page, and(inScope(ctx), readable(ctx)))
  if (items.length === 0) await refuseUnlessThere(ctx)
  return { ...next, items: items.map(({ world, context }) => presentWorld(world, context, verbOn(ctx, world))) }
}

/** Lists the public and active worlds of all organizations. */
export const listPublicWorlds = async (ctx: Context, page: Page): Promise<Paged<PublicWorldAnswer>> => {
  const shown = and(eq(launchContexts.isPublic, true), eq(launchContexts.isActive, true), eq(worlds.phase, 'Active'))
  const { items, ...next } = await read(ctx, page, shown)
  return { ...next, items: items.map(({ world, context }) => presentPublicWorld(world, context, verbOn(ctx, world))) }
}

/** Lists where the users of a key may travel: Active worlds that it can read, whose launch context is active. */
export const listTravelLocations = async (ctx: Context, page: Page): Promise<Paged<TravelLocation>> => {
  if (ctx.organizationId !== '') authoriseListing(ctx)
  const open = and(eq(launchContexts.isActive, true), eq(worlds.phase, 'Active'))
  const { items, ...next } = await read(ctx, page, and(inScope(ctx), readable(ctx), open))
  if (items.length === 0 && ctx.organizationId !== '') await refuseUnlessThere(ctx)
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
      and(inScope(ctx), eq(worlds.projectId, ctx.projectId), eq(worlds.id, input.worldId), isNull(worlds.deletingAt)),
    )
  const path = pathOf(organizationId, ctx.projectId, input.worldId)
  const member = principal.organizationId === organizationId && strongestVerb(principal.permissions, path) !== undefined
  const hasAccess =
    row?.context.isActive === true &&
    (row.phase === 'Starting' || row.phase === 'Active') &&
    row.admission.policy !== 'Closed' &&
    (row.context.isPublic || member)
  return { userId: input.userId, hasAccess }
}

const verbOn = ({ principal }: Context, world: { organizationId: string; projectId: string; id: string }) =>
  strongestVerb(principal.permissions, pathOf(world.organizationId, world.projectId, world.id)) ?? 'r'

const read = async (ctx: Context, page: Page, where: SQL | undefined) => {
  const rows = await ctx.db
    .select({ world: worlds, context: launchContexts })
    .from(worlds)
    .innerJoin(launchContexts, eq(launchContexts.worldId, worlds.id))
    .where(and(where, isNull(worlds.deletingAt), after(worlds, page)))
    .orderBy(...inOrder(worlds))
    .limit(page.limit + 1)
  return cut(
    rows.map((row) => ({ ...row, id: row.world.id, createdAt: row.world.createdAt })),
    page,
  )
}

const inScope = ({ organizationId, projectId }: Context): SQL | undefined =>
  and(
    organizationId === '' ? undefined : eq(worlds.organizationId, organizationId),
    projectId === '' ? undefined : eq(worlds.projectId, projectId),
  )

/** What the caller's permissions let one read, for the database to choose, so that pages are full. */
const readable = ({ principal }: Context): SQL | undefined => {
  const readable = readableWorlds(principal.permissions)
  if (readable.all) return undefined
  return (
    or(
      readable.organizations.length > 0 ? inArray(worlds.organizationId, [...readable.organizations]) : undefined,
      ...readable.projects.map(ofProject),
      ...readable.worlds.map((each) => and(ofProject(each), eq(worlds.id, each.worldId))),
    ) ?? sql`false`
  )
}

const ofProject = ({ organizationId, projectId }: { organizationId: string; projectId: string }): SQL | undefined =>
  and(eq(worlds.organizationId, organizationId), eq(worlds.projectId, projectId))

/** Only an empty list needs the question whether its organization, and its project if one is named, exist at all. */
const refuseUnlessThere = async (ctx: Context): Promise<void> => {
  const depth = ctx.projectId === '' ? 'organization' : 'project'
  const { organizationId, projectId } = ctx
  if (!(await ctx.scopeExists(depth, { organizationId, projectId, worldId: '' }))) throw notFound()
}
