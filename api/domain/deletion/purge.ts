import { and, eq, gt, isNotNull, type SQL, sql } from 'drizzle-orm'
import { authoriseCall } from '#api/domain/access/authorise.ts'
import type { Context, Deps } from '#api/domain/access/context.ts'
import { organizations } from '#api/domain/organizations/table.ts'
import { projects } from '#api/domain/projects/table.ts'
import { worlds } from '#api/domain/worlds/table.ts'
import { notFound } from '#api/platform/http/problem.ts'
import { createFairQueue } from '#shared/fairQueue.ts'

/** The number of rows that one statement erases. */
const batchSize = 500
/** The number of turns of one call, not counting the first of each organization. A turn erases a batch of each kind. */
const maxTurns = 200

const now = sql`now()`
const isKept = (table: typeof worlds | typeof projects | typeof organizations): SQL | undefined =>
  and(isNotNull(table.deletingAt), gt(table.purgeAt, now))

/** Ends the time for which a deleted world is kept. The background task erases it. */
export const purgeWorld = async (ctx: Context, worldId: string): Promise<void> => {
  const { organizationId, projectId } = ctx
  await ctx.db.transaction(async (tx) => {
    const purged = await tx
      .update(worlds)
      .set({ purgeAt: now })
      .where(
        and(
          eq(worlds.organizationId, organizationId),
          eq(worlds.projectId, projectId),
          eq(worlds.id, worldId),
          isKept(worlds),
        ),
      )
      .returning({ id: worlds.id })
    if (purged.length === 0) throw notFound()
  })
}

/** Ends the time for which a deleted project and all its worlds are kept. */
export const purgeProject = async (ctx: Context, projectId: string): Promise<void> => {
  await ctx.db.transaction(async (tx) => {
    const whereProject = and(eq(projects.organizationId, ctx.organizationId), eq(projects.id, projectId))
    const purged = await tx
      .update(projects)
      .set({ purgeAt: now })
      .where(and(whereProject, isKept(projects)))
      .returning()
    if (purged.length === 0) throw notFound()
    await tx
      .update(worlds)
      .set({ purgeAt: now })
      .where(and(eq(worlds.projectId, projectId), isKept(worlds)))
  })
}

/** Ends the time for which a deleted organization is kept with all that belongs to it. Needs the platform key. */
export const purgeOrganization = async (ctx: Context): Promise<void> => {
  authoriseCall(ctx.principal, { platformOnly: true })
  const id = ctx.organizationId
  await ctx.db.transaction(async (tx) => {
    const whereKept = and(eq(organizations.id, id), isKept(organizations))
    const purged = await tx.update(organizations).set({ purgeAt: now }).where(whereKept).returning()
    if (purged.length === 0) throw notFound()
    await tx
      .update(projects)
      .set({ purgeAt: now })
      .where(and(eq(projects.organizationId, id), isKept(projects)))
    await tx
      .update(worlds)
      .set({ purgeAt: now })
      .where(and(eq(worlds.organizationId, id), isKept(worlds)))
  })
}

/** Organizations with rows to erase. A row of kept documents is erased with its world or its project. */
const overdueOrganizations = sql`
  select organization_id as id from worlds where removed_at is not null and purge_at <= now()
  union select organization_id from projects where purge_at <= now()
  union select id from organizations where purge_at <= now()
  union select distinct organization_id from kept_documents k
    where not exists (select from projects p where p.id = k.project_id and p.purge_at > now())
    and not exists (select from worlds w where w.id = k.world_id and w.purge_at > now())`

const batchOf = (table: string, where: SQL): SQL =>
  sql`delete from ${sql.identifier(table)} where ctid = any(array(select ctid from ${sql.identifier(table)}
    where ${where} limit ${batchSize}))`

/** Returns the statements that erase rows of an organization. Rows that refer to others are erased before them. */
const statementsFor = (id: string): SQL[] => {
  const isOwn = sql`organization_id = ${id}`
  const overdueWorlds = sql`(select id from worlds where ${isOwn} and removed_at is not null and purge_at <= now() limit ${batchSize})`
  /**
   * True for a deleted organization whose time is over, whose projects are gone and that has no dirty mark. The mark stays until its
   * namespaces are closed: without the row, nothing would close them.
   */
  const isOver = sql`exists (select from organizations o where o.id = ${id} and purge_at <= now()
    and not exists (select from projects p where p.organization_id = o.id)
    and not exists (select from cluster_outbox m where m.kind = 'organization' and split_part(m.id, '@', 1) = o.id))`
  const owned = ['documents', 'builds', 'revoked_tokens', 'webhook_deliveries', 'webhooks', 'api_keys']
  return [
    batchOf(
      'kept_documents',
      sql`${isOwn} and world_id <> '' and not exists (select from worlds w where w.id = world_id and w.purge_at > now())`,
    ),
    batchOf('bot_deployments', sql`removed_at is not null and world_id in ${overdueWorlds}`),
    sql`delete from worlds where id in ${overdueWorlds} and not exists (select from bot_deployments where world_id = worlds.id)`,
    batchOf(
      'kept_documents',
      sql`${isOwn} and not exists (select from projects p where p.id = project_id and p.purge_at > now())
      and not exists (select from worlds w where w.id = world_id and w.purge_at > now())`,
    ),
    sql`delete from projects where id in (select id from projects p where ${isOwn} and purge_at <= now()
      and not exists (select from worlds w where w.project_id = p.id) limit ${batchSize})`,
    ...owned.map((table) => batchOf(table, sql`${isOwn} and ${isOver}`)),
    sql`delete from organizations o where id = ${id} and ${isOver} and not exists (
      select from documents d where d.organization_id = o.id) and not exists (
      select from builds b where b.organization_id = o.id) and not exists (
      select from revoked_tokens t where t.organization_id = o.id) and not exists (
      select from api_keys k where k.organization_id = o.id)`,
  ]
}

const orphanedCounts = batchOf(
  'document_counts',
  sql`not exists (select from organizations o where o.id = organization_id)`,
)

/**
 * Erases rows that are no longer kept, in bounded batches, of one organization after the other. Several replicas may run it
 * concurrently.
 */
export const purgeDeleted = async ({ db }: Pick<Deps, 'db'>, signal: AbortSignal): Promise<void> => {
  const erase = async (statement: SQL): Promise<number> => (await db.execute(statement)).rowCount ?? 0
  const queue = createFairQueue<string>('purge', (id) => id)
  for (const { id } of (await db.execute<{ id: string }>(overdueOrganizations)).rows) queue.add(id)
  for (let turns = queue.size + maxTurns; turns > 0 && !signal.aborted; turns -= 1) {
    const [id] = queue.take(1)
    if (id === undefined) break
    let erased = 0
    for (const statement of statementsFor(id)) erased += await erase(statement)
    if (erased > 0) queue.add(id)
  }
  await erase(orphanedCounts)
}
