import { and, eq, gt, isNotNull, type SQL, sql } from 'drizzle-orm'
import { authoriseCall } from '#api/domain/access/authorise.ts'
import type { Context, Deps } from '#api/domain/access/context.ts'
import { organizations } from '#api/domain/organizations/table.ts'
import { projects } from '#api/domain/projects/table.ts'
import { worlds } from '#api/domain/worlds/table.ts'
import { notFound } from '#api/platform/http/problem.ts'

/** The number of rows that one statement erases. */
const batchSize = 500
/** The maximum number of batches in one call. */
const maxBatches = 200

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

/** A removed world whose time is over. */
const overdue = sql`(select id from worlds where removed_at is not null and purge_at <= now() limit ${batchSize})`
/**
 * A deleted organization whose time is over, whose worlds are gone and whose namespaces are closed: until then it has a dirty
 * mark. Without its row, nothing would close them.
 */
const overdueOrganization = sql`(select id from organizations o where purge_at <= now()
  and not exists (select from projects p where p.organization_id = o.id)
  and not exists (select from cluster_outbox m where m.kind = 'organization' and split_part(m.id, '@', 1) = o.id) limit 1)`
const batchOf = (table: string, where: SQL): SQL =>
  sql`delete from ${sql.identifier(table)} where ctid = any(array(select ctid from ${sql.identifier(table)}
    where ${where} limit ${batchSize}))`

/** The statements that erase rows. Rows that refer to others are erased before them. */
const statements: readonly SQL[] = [
  batchOf(
    'kept_documents',
    sql`world_id <> '' and not exists (select from worlds w where w.id = world_id and w.purge_at > now())`,
  ),
  batchOf('bot_deployments', sql`removed_at is not null and world_id in ${overdue}`),
  sql`delete from worlds where id in ${overdue} and not exists (select from bot_deployments where world_id = worlds.id)`,
  batchOf(
    'kept_documents',
    sql`not exists (select from projects p where p.id = project_id and p.purge_at > now())
    and not exists (select from worlds w where w.id = world_id and w.purge_at > now())`,
  ),
  sql`delete from projects where id in (select id from projects p where purge_at <= now()
    and not exists (select from worlds w where w.project_id = p.id) limit ${batchSize})`,
  ...['documents', 'builds', 'revoked_tokens', 'webhook_deliveries', 'webhooks', 'api_keys'].map((table) =>
    batchOf(table, sql`organization_id in ${overdueOrganization}`),
  ),
  sql`delete from organizations o where id in ${overdueOrganization} and not exists (
    select from documents d where d.organization_id = o.id) and not exists (
    select from builds b where b.organization_id = o.id) and not exists (
    select from revoked_tokens t where t.organization_id = o.id) and not exists (
    select from api_keys k where k.organization_id = o.id)`,
  batchOf('document_counts', sql`not exists (select from organizations o where o.id = organization_id)`),
]

/** Erases rows that are no longer kept, in bounded batches. Several replicas may run it concurrently. */
export const purgeDeleted = async ({ db }: Pick<Deps, 'db'>, signal: AbortSignal): Promise<void> => {
  for (const statement of statements) {
    for (let done = 0; done < maxBatches && !signal.aborted; done += 1) {
      const { rowCount } = await db.execute(statement)
      if ((rowCount ?? 0) === 0) break
    }
  }
}
