import type { AuditEntry, Context } from '#api/domain/access/context.ts'
import { insertAuditRecord, withAuditedTransactions } from '#api/platform/audit/records.ts'
import { callerName } from '#api/platform/auth/principal.ts'
import { addressBlock } from '#api/platform/http/clientAddress.ts'
import { fieldNamesOf } from '#api/platform/http/fieldNames.ts'
import type { Endpoint, RawInput } from './endpoint.ts'

/** Returns the function with which service functions write audit records of a request. `contextOf` returns the request's context. */
export const createRecordAudit =
  (
    contextOf: () => Omit<Context, 'recordAudit'>,
    { operationId }: Endpoint,
    request: { address: string; requestId: string },
  ): Context['recordAudit'] =>
  async (entry = {}, transaction) => {
    const ctx = contextOf()
    const { action = operationId, resources = [], fields = [], organizationId = ctx.organizationId } = entry
    const db = transaction ?? ctx.db
    const { kind, id } = entry.actor ?? ctx.principal
    await insertAuditRecord(db, {
      id: ctx.newId('audit'),
      createdAt: new Date(ctx.clock.now()),
      organizationId,
      projectId: ctx.projectId,
      door: 'rest',
      actorKind: kind === 'anonymous' ? 'system' : kind,
      actorId: kind === 'platform' ? '' : id,
      action,
      resources,
      fields,
      ...request,
    })
  }

/**
 * Returns the context of a request whose transactions each leave an audit record. The record names the resources of the path
 * and those that the request created. A replayed request leaves none, and neither does a repeated write of a document within
 * a minute of its record.
 */
export const auditRequest = (
  ctx: Context,
  endpoint: Endpoint,
  { params, body }: RawInput,
  address: string,
): Context => {
  const resources = Object.entries(params).flatMap(([name, value]) => (name === 'organizationId' ? [] : [value]))
  const fields = endpoint.upload ? ['/pictureUrl'] : fieldNamesOf(endpoint.body, body)
  if (!endpoint.auditsOncePerMinute) return auditAs(ctx, { resources, fields })
  const { organizationId, projectId, worldId, principal, recentAudits } = ctx
  const scope = [organizationId, projectId, worldId]
  const name = [callerName(principal), addressBlock(address), endpoint.operationId, scope, resources, fields]
  return auditAs(ctx, {
    resources,
    fields,
    isRecorded: () => recentAudits.has(name),
    onRecorded: () => recentAudits.add(name),
  })
}

type AuditOptions = Pick<AuditEntry, 'action' | 'actor'> &
  Required<Pick<AuditEntry, 'resources' | 'fields'>> & {
    /** Reports whether another record stands for this one. */
    readonly isRecorded?: () => boolean
    /** Called after the commit of a record. */
    readonly onRecorded?: () => void
  }

/** Returns a context whose transactions each leave this audit record. The ids that they create are added to its resources. */
export const auditAs = (
  ctx: Context,
  { resources: named, fields, isRecorded = () => false, onRecorded, ...about }: AuditOptions,
): Context => {
  const created: string[] = []
  const recordAudit: Context['recordAudit'] = (entry = {}, db) => {
    const organizationId = ctx.organizationId || created[0] || ''
    return ctx.recordAudit({ ...about, resources: [...named, ...created], fields, organizationId, ...entry }, db)
  }
  return {
    ...ctx,
    newId: (kind) => {
      const id = ctx.newId(kind)
      created.push(id)
      return id
    },
    recordAudit,
    db: withAuditedTransactions(
      ctx.db,
      (tx) => (ctx.idempotency?.replayed || isRecorded() ? undefined : recordAudit({}, tx)),
      onRecorded,
    ),
  }
}
