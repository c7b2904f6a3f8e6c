import { and, eq, inArray, isNull, or, type SQL, sql } from 'drizzle-orm'
import { authoriseListing, pathOf } from '#api/domain/access/authorise.ts'
import type { Context } from '#api/domain/access/context.ts'
import { readableWorlds, strongestVerb } from '#api/domain/access/permissions.ts'
import { presentWorld } from '#api/domain/worlds/present.ts'
import type { WorldAnswer } from '#api/domain/worlds/schema.ts'
import { launchContexts, worlds } from '#api/domain/worlds/table.ts'
import { listOrder, whereAfterCursor } from '#api/platform/database/page.ts'
import { type Page, type Paged, toPaged } from '#api/platform/http/page.ts'
import { notFound } from '#api/platform/http/problem.ts'

/** Lists the worlds of the organization, or of one project of it, that the caller can read; oldest first. */
export const listWorlds = async (ctx: Context, page: Page): Promise<Paged<WorldAnswer>> => {
  authoriseListing(ctx)
  const { items, ...next } = await readWorlds(ctx, page, and(whereInScope(ctx), whereReadable(ctx)))
  if (items.length === 0) await checkScopeExists(ctx)
  return { ...next, items: items.map(({ world, context }) => presentWorld(world, context, verbOnWorld(ctx, world))) }
}

/** Returns the caller's strongest verb on a world, or `r` if the caller has none, as for public worlds of others. */
export const verbOnWorld = ({ principal }: Context, world: { organizationId: string; projectId: string; id: string }) =>
  strongestVerb(principal.permissions, pathOf(world.organizationId, world.projectId, world.id)) ?? 'r'

/** Reads a page of worlds with their launch contexts, oldest first, without worlds that are being deleted. */
export const readWorlds = async (ctx: Context, page: Page, where: SQL | undefined) => {
  const rows = await ctx.db
    .select({ world: worlds, context: launchContexts })
    .from(worlds)
    .innerJoin(launchContexts, eq(launchContexts.worldId, worlds.id))
    .where(and(where, isNull(worlds.deletingAt), whereAfterCursor(worlds, page)))
    .orderBy(...listOrder(worlds))
    .limit(page.limit + 1)
  return toPaged(
    rows.map((row) => ({ ...row, id: row.world.id, createdAt: row.world.createdAt })),
    page,
  )
}

/** Restricts worlds to the organization and the project of the headers. An absent header restricts nothing. */
export const whereInScope = ({ organizationId, projectId }: Context): SQL | undefined =>
  and(
    organizationId === '' ? undefined : eq(worlds.organizationId, organizationId),
    projectId === '' ? undefined : eq(worlds.projectId, projectId),
  )

/** Restricts worlds to those that the caller can read. The database applies it, so that pages are full. */
export const whereReadable = ({ principal }: Context): SQL | undefined => {
  const readable = readableWorlds(principal.permissions)
  if (readable.all) return undefined
  return (
    or(
      readable.organizations.length > 0 ? inArray(worlds.organizationId, [...readable.organizations]) : undefined,
      ...readable.projects.map(whereProject),
      ...readable.worlds.map((each) => and(whereProject(each), eq(worlds.id, each.worldId))),
    ) ?? sql`false`
  )
}

const whereProject = ({ organizationId, projectId }: { organizationId: string; projectId: string }): SQL | undefined =>
  and(eq(worlds.organizationId, organizationId), eq(worlds.projectId, projectId))

/**
 * Throws a 404 if the project of the headers, or without one the organization, does not exist. Only empty lists need
 * the check.
 */
export const checkScopeExists = async (ctx: Context): Promise<void> => {
  const kind = ctx.projectId === '' ? 'organization' : 'project'
  const { organizationId, projectId } = ctx
  if (!(await ctx.scopeExists(kind, { organizationId, projectId, worldId: '' }))) throw notFound()
}
