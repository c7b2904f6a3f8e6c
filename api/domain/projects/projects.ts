import { and, eq, inArray, isNull } from 'drizzle-orm'
import { authoriseListing } from '#api/domain/access/authorise.ts'
import type { Context, LockRevision } from '#api/domain/access/context.ts'
import { organizations } from '#api/domain/organizations/table.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { countPresentAndKept } from '#api/platform/database/columns.ts'
import { listOrder, whereAfterCursor } from '#api/platform/database/page.ts'
import { readPage } from '#api/platform/database/readPage.ts'
import { type Page, type Paged, toPaged } from '#api/platform/http/page.ts'
import { found, notFound, Problem } from '#api/platform/http/problem.ts'
import { createOnce } from '#api/platform/idempotency/once.ts'
import { pathOf, reachableChildren, strongestVerb } from '#shared/domain/permissions.ts'
import type { PatchProject, ProjectAnswer } from './schema.ts'
import { projects } from './table.ts'

/** The maximum number of projects of an organization. */
const maxProjects = 1_000
/** The maximum number with the deleted ones that are kept. */
const maxProjectRows = 2 * maxProjects

/** Creates a project in the organization of the headers. Throws a 409 at the maximum. */
export const createProject = (ctx: Context, { name }: { name: string }): Promise<{ projectId: string }> =>
  createOnce(ctx, async (tx, now) => {
    const { organizationId } = ctx
    const [organization] = await tx
      .select({ id: organizations.id })
      .from(organizations)
      .where(and(eq(organizations.id, organizationId), isNull(organizations.deletingAt)))
      .for('no key update')
    if (organization === undefined) throw notFound()
    await checkProjectCount(tx, organizationId)
    const id = ctx.newId('project')
    await tx.insert(projects).values({ id, organizationId, name, createdAt: now, updatedAt: now })
    return { projectId: id }
  })

/**
 * Throws a 409 if the organization has its maximum of projects, or keeps too many deleted ones. The organization's row must
 * be locked.
 */
const checkProjectCount = async (tx: Transaction, organizationId: string): Promise<void> => {
  const [existing] = await tx
    .select(countPresentAndKept(projects))
    .from(projects)
    .where(eq(projects.organizationId, organizationId))
  const { present = 0, kept = 0 } = existing ?? {}
  if (present >= maxProjects) {
    throw new Problem(
      'limit_reached',
      `The organization has ${maxProjects} projects, which is the maximum. Delete one first.`,
    )
  }
  if (present + kept >= maxProjectRows) {
    const detail = `The organization has ${present} projects and keeps ${kept} deleted ones, together its maximum of ${maxProjectRows}. Purge deleted projects first.`
    throw new Problem('limit_reached', detail)
  }
}

const defaultProjectName = 'default'

/**
 * Returns the id of the organization's project "default", or undefined if there is none. The project cannot be deleted until the
 * transaction ends.
 */
export const findDefaultProject = async (tx: Transaction, organizationId: string): Promise<string | undefined> => {
  const [project] = await tx
    .select({ id: projects.id })
    .from(projects)
    .where(and(whereLive({ organizationId }), eq(projects.name, defaultProjectName)))
    .orderBy(...listOrder(projects))
    .limit(1)
    .for('share')
  return project?.id
}

/**
 * Returns the id of the organization's project "default", which it creates if there is none. Throws a 409 at the maximum of
 * projects. The organization's row must be locked.
 */
export const ensureDefaultProject = async (
  tx: Transaction,
  { organizationId, id, now }: { organizationId: string; id: string; now: Date },
): Promise<string> => {
  const existing = await findDefaultProject(tx, organizationId)
  if (existing !== undefined) return existing
  await checkProjectCount(tx, organizationId)
  await tx.insert(projects).values({ id, organizationId, name: defaultProjectName, createdAt: now, updatedAt: now })
  return id
}

/** Reports whether the organization has this project. The project cannot be deleted until the end of the transaction. */
export const lockProject = async (
  tx: Transaction,
  { organizationId, projectId }: { organizationId: string; projectId: string },
): Promise<boolean> => {
  const rows = await tx
    .select({ id: projects.id })
    .from(projects)
    .where(and(whereLive({ organizationId }), eq(projects.id, projectId)))
    .for('share')
    .execute()
  return rows.length > 0
}

/** Lists the projects on which the caller has a permission, oldest first. */
export const listProjects = async (ctx: Context, page: Page): Promise<Paged<ProjectAnswer>> => {
  authoriseListing(ctx)
  const { permissions } = ctx.principal
  const verbOn = (id: string) => strongestVerb(permissions, pathOf(ctx.organizationId, id))
  const reachable = reachableChildren(permissions, pathOf(ctx.organizationId))
  const ids = reachable === 'all' ? undefined : reachable.filter((id) => verbOn(id) !== undefined)
  const read = await readPage(
    ctx,
    { id: projects.id, name: projects.name, createdAt: projects.createdAt },
    {
      from: projects,
      where: and(whereLive(ctx), ids && inArray(projects.id, ids), whereAfterCursor(projects, page)),
      orderBy: listOrder(projects),
      limit: page.limit,
    },
  )
  if (read.rows.length === 0 && !(await ctx.scopeExists('organization', { ...ctx, worldId: '' }))) throw notFound()
  const { items, ...next } = toPaged(read)
  return {
    ...next,
    items: items.map(({ id, name }) => ({ documentId: id, name, projectId: id, permissionVerb: verbOn(id) ?? 'r' })),
  }
}

/** Reads the project of the headers. */
export const getProject = async (ctx: Context): Promise<{ body: ProjectAnswer; revision: number }> => {
  const row = found(await ctx.db.select().from(projects).where(whereCurrent(ctx)))
  const { id, name, revision } = row
  return { body: { documentId: id, name, projectId: id, permissionVerb: ctx.verb ?? 'r' }, revision }
}

/** Locks the project of the headers and returns its revision. */
export const lockProjectRevision: LockRevision = async (tx, ctx) => {
  const { revision } = projects
  const [row] = await tx.select({ revision }).from(projects).where(whereCurrent(ctx)).for('update')
  return row?.revision
}

/** Renames the project of the headers. Throws a 400 if the body contains the id of another project. */
export const patchProject = (
  ctx: Context,
  { documentId, name }: PatchProject,
): Promise<{ documentId: string; name: string }> =>
  ctx.db.transaction(async (tx) => {
    const row = found(await tx.select().from(projects).where(whereCurrent(ctx)).for('update'))
    if (documentId !== undefined && documentId !== row.id) {
      const errors = [{ path: '/documentId', message: 'must equal the header x-svc-project-id' }]
      throw new Problem(
        'invalid_request',
        'documentId and the header x-svc-project-id name different projects. Leave out documentId.',
        { errors },
      )
    }
    const changed = { name: name ?? row.name, revision: row.revision + 1, updatedAt: new Date(ctx.clock.now()) }
    await tx.update(projects).set(changed).where(eq(projects.id, row.id))
    return { documentId: row.id, name: changed.name }
  })

const whereLive = ({ organizationId }: Pick<Context, 'organizationId'>) =>
  and(eq(projects.organizationId, organizationId), isNull(projects.deletingAt))
const whereCurrent = (ctx: Context) => and(whereLive(ctx), eq(projects.id, ctx.projectId))
