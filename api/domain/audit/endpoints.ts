import * as z from 'zod'
import { endpoint, toPageReply } from '#api/domain/endpoint/endpoint.ts'
import { listAuditRecords, listPlatformAuditRecords } from './records.ts'
import { auditQuery, auditRecord, platformAuditRecord } from './schema.ts'

/** Endpoints that list audit records: of an organization with `*` on it, of the platform with the platform key. */
export const auditEndpoints = [
  endpoint({
    method: 'get',
    path: '/api/audit/',
    operationId: 'listAuditRecords',
    summary: 'List who changed what in an organization, newest first',
    description:
      'Returns the changes that were made in the organization, newest first. Needs `*` on the organization. A page compares at most 1,000 records with the filters, so it may be shorter than `limit`, even empty, although the Link header leads to more.',
    tag: 'Audit',
    scope: 'organization',
    needs: ['organization', '*'],
    query: auditQuery,
    answer: z.array(auditRecord),
    answerHeaders: ['link'],
    handle: async (ctx, { query }) => toPageReply(await listAuditRecords(ctx, query)),
  }),
  endpoint({
    method: 'get',
    path: '/api/audit/platform/',
    operationId: 'listPlatformAuditRecords',
    summary: 'List who changed the platform itself, newest first',
    description:
      'Needs the platform key. Returns the changes of the command `orrery` that concern no single organization.',
    credential: 'key',
    tag: 'Audit',
    platformOnly: true,
    query: auditQuery,
    answer: z.array(platformAuditRecord),
    answerHeaders: ['link'],
    problems: [403],
    handle: async (ctx, { query }) => toPageReply(await listPlatformAuditRecords(ctx, query)),
  }),
]
