import { and, eq, getTableColumns, gte, lt, type SQL, sql } from 'drizzle-orm'
import type { Context } from '#api/domain/access/context.ts'
import { type AuditRow, auditRecords } from '#api/platform/audit/table.ts'
import type { Database } from '#api/platform/database/client.ts'
import { newestFirst, whereBeforeCursor } from '#api/platform/database/page.ts'
import { type PageReader, readPage } from '#api/platform/database/readPage.ts'
import { optional } from '#api/platform/http/fields.ts'
import { type Cursor, type Paged, toPage, toPaged } from '#api/platform/http/page.ts'
import { notFound } from '#api/platform/http/problem.ts'
import type { AuditQuery, AuditRecordAnswer, PlatformAuditRecordAnswer } from './schema.ts'

/** Returns a page of the organization's audit records, newest first. */
export const listAuditRecords = async (ctx: Context, query: AuditQuery): Promise<Paged<AuditRecordAnswer>> => {
  const { organizationId } = ctx
  if (!(await ctx.scopeExists('organization', { organizationId, projectId: '', worldId: '' }))) throw notFound()
  const { items, ...next } = await readRecords(ctx, organizationId, query)
  return { ...next, items: items.map(present) }
}

/** Returns a page of the audit records that concern the platform, newest first. */
export const listPlatformAuditRecords = async (
  ctx: PageReader,
  query: AuditQuery,
): Promise<Paged<PlatformAuditRecordAnswer>> => {
  const { items, ...next } = await readRecords(ctx, '', query)
  return { ...next, items: items.map(presentCommon) }
}

/**
 * The maximum number of records that a page compares with its filters, which have no index. It is the number of records of the
 * largest page without a filter.
 */
const maxCompared = 1_000

const readRecords = async (ctx: PageReader, organizationId: string, query: AuditQuery): Promise<Paged<AuditRow>> => {
  const page = toPage(query)
  const where = and(
    eq(auditRecords.organizationId, organizationId),
    whereInTime(query),
    whereBeforeCursor(auditRecords, page),
  )
  const filters = whereFilters(query)
  const last = filters && (await findLastCompared(ctx.db, where))
  const read = await readPage(ctx, getTableColumns(auditRecords), {
    from: auditRecords,
    where: and(where, filters, last && whereNotBefore(last)),
    orderBy: newestFirst(auditRecords),
    limit: page.limit,
    isScan: filters !== undefined,
  })
  const paged = toPaged(read)
  return last === undefined || paged.next !== undefined ? paged : { ...paged, next: last }
}

/** Returns the position of the last record that a page may compare, or undefined if fewer follow. Only the index is read. */
const findLastCompared = async (db: Database, where: SQL | undefined): Promise<Cursor | undefined> => {
  const [last] = await db
    .select({ createdAt: auditRecords.createdAt, id: auditRecords.id })
    .from(auditRecords)
    .where(where)
    .orderBy(...newestFirst(auditRecords))
    .limit(1)
    .offset(maxCompared - 1)
  return last
}

const whereNotBefore = ({ createdAt, id }: Cursor): SQL =>
  sql`(${auditRecords.createdAt}, ${auditRecords.id}) >= (${sql.param(createdAt, auditRecords.createdAt)}, ${id})`

const whereInTime = ({ since, until }: AuditQuery) =>
  and(
    since === undefined ? undefined : gte(auditRecords.createdAt, new Date(since)),
    until === undefined ? undefined : lt(auditRecords.createdAt, new Date(until)),
  )

const whereFilters = ({ door, actor, action, resource }: AuditQuery) =>
  and(
    door && eq(auditRecords.door, door),
    actor === undefined ? undefined : eq(auditRecords.actorId, actor),
    action === undefined ? undefined : eq(auditRecords.action, action),
    resource === undefined ? undefined : sql`${auditRecords.resources} @> ${JSON.stringify([resource])}::jsonb`,
  )

const presentCommon = (row: AuditRow): PlatformAuditRecordAnswer => ({
  id: row.id,
  createdAt: row.createdAt.toISOString(),
  door: row.door,
  actor: { kind: row.actorKind, ...optional('id', row.actorId || null) },
  action: row.action,
  resources: [...row.resources],
})

const present = (row: AuditRow): AuditRecordAnswer => ({
  ...presentCommon(row),
  organizationId: row.organizationId,
  ...optional('projectId', row.projectId || null),
  fields: [...row.fields],
  ...optional('address', row.address || null),
  ...optional('requestId', row.requestId || null),
})
