import { and, eq, getTableColumns, gte, lt, sql } from 'drizzle-orm'
import type { Context } from '#api/domain/access/context.ts'
import { type AuditRow, auditRecords } from '#api/platform/audit/table.ts'
import { newestFirst, whereBeforeCursor } from '#api/platform/database/page.ts'
import { type PageReader, readPage } from '#api/platform/database/readPage.ts'
import { optional } from '#api/platform/http/fields.ts'
import { type Paged, toPage, toPaged } from '#api/platform/http/page.ts'
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

const readRecords = async (ctx: PageReader, organizationId: string, query: AuditQuery) => {
  const page = toPage(query)
  const read = await readPage(ctx, getTableColumns(auditRecords), {
    from: auditRecords,
    where: and(
      eq(auditRecords.organizationId, organizationId),
      whereFilters(query),
      whereBeforeCursor(auditRecords, page),
    ),
    orderBy: newestFirst(auditRecords),
    limit: page.limit,
  })
  return toPaged(read)
}

const whereFilters = ({ since, until, door, actor, action, resource }: AuditQuery) =>
  and(
    since === undefined ? undefined : gte(auditRecords.createdAt, new Date(since)),
    until === undefined ? undefined : lt(auditRecords.createdAt, new Date(until)),
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
