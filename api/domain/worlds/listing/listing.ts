import {
  type AnyColumn,
  and,
  asc,
  count,
  desc,
  eq,
  getTableColumns,
  inArray,
  isNull,
  or,
  type SQL,
  sql,
} from 'drizzle-orm'
import { authoriseListing } from '#api/domain/access/authorise.ts'
import type { Context } from '#api/domain/access/context.ts'
import { presentWorld } from '#api/domain/worlds/present.ts'
import type {
  LaunchContextDetails,
  Manifest,
  Metadata,
  Sessions,
  WorldAnswer,
  WorldCounts,
  WorldFields,
} from '#api/domain/worlds/schema.ts'
import { launchContexts, shownColumns, worlds } from '#api/domain/worlds/table.ts'
import type { Queries } from '#api/platform/database/client.ts'
import { listOrder, whereAfterCursor, whereBeyond } from '#api/platform/database/page.ts'
import { readPage, runScan } from '#api/platform/database/readPage.ts'
import { type Page, toPaged } from '#api/platform/http/page.ts'
import { notFound } from '#api/platform/http/problem.ts'
import { pathOf, readableWorlds, strongestVerb } from '#shared/domain/permissions.ts'
import { type WorldPhase, worldPhases } from '#shared/enumerations.ts'
import { cursorAfter, type WorldOrder, type WorldPage } from './order.ts'
import type { WorldFilter } from './query.ts'

/** A page of worlds, with the cursor of the next page if there is one. */
type WorldsPage = { readonly items: WorldFields[]; readonly next?: string }

/**
 * Lists the worlds of the organization, or of one project of it, that the caller can read and that match the filter. With
 * `fields`, the worlds have only these members and `documentId`.
 */
export const listWorlds = async (
  ctx: Context,
  page: WorldPage,
  { filter = {}, fields = [] }: { filter?: WorldFilter; fields?: readonly (keyof WorldAnswer)[] } = {},
): Promise<WorldsPage> => {
  authoriseListing(ctx)
  const { order, limit } = page
  const where = and(whereListed(ctx, filter), whereAfter(page), isNull(worlds.deletingAt))
  const columns = columnsFor(fields)
  const { rows, hasMore } = await readPage(ctx, columns, {
    ...withContext,
    where,
    orderBy: orderBy(order),
    limit,
    isScan: isScan(filter),
  })
  if (rows.length === 0) await checkScopeExists(ctx)
  const items = rows.map(({ world, context }) =>
    pickFields(presentWorld(world, context, verbOnWorld(ctx, world)), fields),
  )
  const last = hasMore ? rows.at(-1) : undefined
  return last === undefined ? { items } : { items, next: cursorAfter(order, last.world) }
}

/** The columns of worlds and their launch contexts. The large ones that the response does not show are not read. */
const columnsFor = (fields: readonly (keyof WorldAnswer)[]) => {
  const isShown = (field: keyof WorldAnswer): boolean => fields.length === 0 || fields.includes(field)
  const { manifest, metadata, sessions } = shownColumns
  return {
    world: {
      ...shownColumns,
      manifest: isShown('manifest') ? manifest : unread<Manifest>(),
      metadata: isShown('metadata') ? metadata : unread<Metadata>(),
      sessions: isShown('sessions') ? sessions : unread<Sessions>(),
    },
    context: {
      ...getTableColumns(launchContexts),
      details: isShown('launchContext') ? launchContexts.details : unread<LaunchContextDetails>(),
    },
  }
}

/** Stands for a column that is not read: null, whatever its type says. No response shows it. */
const unread = <T>() => sql<T>`null`

const pickFields = (world: WorldAnswer, fields: readonly (keyof WorldAnswer)[]): WorldFields => {
  if (fields.length === 0) return world
  const wanted: readonly string[] = ['documentId', ...fields]
  return Object.fromEntries(Object.entries(world).filter(([name]) => wanted.includes(name))) as WorldFields
}

/** Counts the worlds of the organization, or of one project, that the caller can read and that match the filter. */
export const countWorlds = async (ctx: Context, filter: WorldFilter): Promise<WorldCounts> => {
  authoriseListing(ctx)
  const countIn = (db: Queries) =>
    db
      .select({ phase: worlds.phase, worlds: count() })
      .from(worlds)
      .where(and(whereListed(ctx, filter), isNull(worlds.deletingAt)))
      .groupBy(worlds.phase)
  const rows = await (isScan(filter) ? runScan(ctx, countIn) : countIn(ctx.db))
  if (rows.length === 0) await checkScopeExists(ctx)
  const ofPhase = (phase: WorldPhase): number => rows.find((row) => row.phase === phase)?.worlds ?? 0
  const phases = Object.fromEntries(worldPhases.map((phase) => [phase, ofPhase(phase)])) as WorldCounts['phases']
  return { total: rows.reduce((sum, row) => sum + row.worlds, 0), phases }
}

const whereListed = (ctx: Context, filter: WorldFilter): SQL | undefined =>
  and(whereInScope(ctx), whereReadable(ctx), whereMatching(filter))

/** Returns the caller's strongest verb on a world, or `r` if the caller has none, as for public worlds of others. */
export const verbOnWorld = ({ principal }: Context, world: { organizationId: string; projectId: string; id: string }) =>
  strongestVerb(principal.permissions, pathOf(world.organizationId, world.projectId, world.id)) ?? 'r'

/**
 * Reports whether a filter reads large values of many worlds: the labels of a world have up to 32 KiB. The other filters read at
 * most twice `maxWorlds` small rows, those of the organization.
 */
export const isScan = ({ label = [] }: WorldFilter): boolean => label.length > 0

/**
 * Reads a page of worlds with the launch contexts, oldest first, without manifests and worlds that are being deleted. Without an
 * organization, it may read the worlds of all.
 */
export const readWorlds = async (
  ctx: Context,
  page: Page,
  { where, organizationId }: { where: SQL | undefined; organizationId: string },
) => {
  const { manifest: _, ...world } = shownColumns
  const { rows, hasMore } = await readPage(
    ctx,
    { world, context: getTableColumns(launchContexts) },
    {
      ...withContext,
      where: and(where, whereAfterCursor(worlds, page), isNull(worlds.deletingAt)),
      orderBy: listOrder(worlds),
      limit: page.limit,
      isScan: organizationId === '',
    },
  )
  const keyed = rows.map((row) => ({ ...row, id: row.world.id, createdAt: row.world.createdAt }))
  return toPaged({ rows: keyed, hasMore })
}

/** The worlds with their launch contexts. */
const withContext = { from: worlds, join: [launchContexts, eq(launchContexts.worldId, worlds.id)] } as const

/** Returns the condition for worlds after the page's cursor, in its order. */
const whereAfter = ({ order, after }: Pick<WorldPage, 'order' | 'after'>): SQL | undefined =>
  after && whereBeyond([worlds[order.field], worlds.id], order.isDescending, [after.value, after.id])

/** Returns the columns of the order, with the id last, which makes it total. */
const orderBy = ({ field, isDescending }: WorldOrder): [SQL, SQL] => {
  const direct = isDescending ? desc : asc
  return [direct(worlds[field]), direct(worlds.id)]
}

/** Restricts worlds to those that match a filter. */
export const whereMatching = ({
  phase = [],
  profile = [],
  region = [],
  name,
  q,
  label = [],
}: WorldFilter): SQL | undefined =>
  and(
    phase.length === 0 ? undefined : inArray(worlds.phase, phase),
    profile.length === 0 ? undefined : inArray(sql`${worlds.networking} #>> '{scaling,profile}'`, profile),
    region.length === 0 ? undefined : inArray(sql`${worlds.compute} ->> 'region'`, region),
    name === undefined ? undefined : eq(worlds.name, name),
    q === undefined ? undefined : or(whereContains(worlds.name, q), whereContains(worlds.description, q)),
    ...label.map(whereLabelled),
  )

const whereContains = (column: AnyColumn, text: string): SQL => sql`strpos(lower(${column}), lower(${text})) > 0`

const whereLabelled = (label: string): SQL => {
  const at = label.indexOf('=')
  const labels = sql`(${worlds.metadata} -> 'labels')`
  if (at < 0) return sql`jsonb_exists(${labels}, ${label})`
  return sql`${labels} ->> ${label.slice(0, at)}::text = ${label.slice(at + 1)}`
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
