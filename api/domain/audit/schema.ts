import * as z from 'zod'
import { auditActors, auditDoors } from '#api/platform/audit/table.ts'
import { exampleId, exampleInstant } from '#api/platform/http/examples.ts'
import { boundedText, shownId, shownInstant } from '#api/platform/http/fields.ts'
import { pageQuery } from '#api/platform/http/page.ts'
import { instant } from '#shared/domain/common.ts'

const filterInstant = (description: string) =>
  boundedText(40)
    .pipe(instant())
    .optional()
    .meta({ type: 'string', format: 'date-time', description, examples: [exampleInstant] })

const filterText = (description: string, example: string) =>
  boundedText(256)
    .optional()
    .meta({ description, examples: [example] })

/** The query of `GET /api/audit/`. Filters are combined with "and". */
export const auditQuery = pageQuery.extend({
  since: filterInstant('Only records of this time or later, in the years 1970 to 9999 in UTC.'),
  until: filterInstant('Only records before this time, in the years 1970 to 9999 in UTC.'),
  door: z
    .enum(auditDoors)
    .optional()
    .meta({ description: 'Only records of changes that arrived this way.', examples: ['rest'] }),
  actor: filterText('Only records of the actor with this id.', exampleId('apiKey')),
  action: filterText('Only records of this action, such as an operationId.', 'startWorld'),
  resource: filterText('Only records that name this resource.', exampleId('world')),
})

/** An entry of the answer of `GET /api/audit/`. */
export const auditRecord = z
  .object({
    id: shownId('audit'),
    createdAt: shownInstant('Time of the change.'),
    organizationId: shownId('organization'),
    projectId: shownId('project').exactOptional(),
    door: z
      .enum(auditDoors)
      .meta({ description: 'Origin of the change: REST, kubectl, the command orrery or the system.' }),
    actor: z
      .object({
        kind: z.enum(auditActors).describe('Kind of credential.'),
        id: z
          .string()
          .exactOptional()
          .meta({ description: 'The id of the key or user, the field manager, the command, or `schedule`.' }),
      })
      .meta({ description: 'Author of the change.' }),
    action: z
      .string()
      .meta({ description: 'The operationId of the request, or of the operation with the same effect.' }),
    resources: z.array(z.string()).meta({ description: 'Ids of the path, then ids that the request created.' }),
    fields: z.array(z.string()).meta({ description: 'JSON Pointers of the fields that were given, without values.' }),
    address: z.string().exactOptional().meta({ description: 'The IP address of the client.' }),
    requestId: z.string().exactOptional().meta({ description: 'The X-Request-Id of the request.' }),
  })
  .meta({
    id: 'AuditRecord',
    examples: [
      {
        id: exampleId('audit'),
        createdAt: exampleInstant,
        organizationId: exampleId('organization'),
        door: 'rest',
        actor: { kind: 'platform' },
        action: 'createApiKey',
        resources: [exampleId('organization'), exampleId('apiKey')],
        fields: ['/name', '/permissions'],
        address: '203.0.113.7',
        requestId: 'a1f6c7de-6b1c-4f0e-9d0b-0d7b2f4f3c55',
      },
    ],
  })

/** An entry of the answer of `GET /api/audit/platform/`. */
export const platformAuditRecord = auditRecord
  .pick({ id: true, createdAt: true, door: true, actor: true, action: true, resources: true })
  .meta({
    id: 'PlatformAuditRecord',
    examples: [
      {
        id: exampleId('audit'),
        createdAt: exampleInstant,
        door: 'cli',
        actor: { kind: 'command', id: 'orrery sync accept' },
        action: 'acceptCluster',
        resources: ['default'],
      },
    ],
  })

export type AuditQuery = z.output<typeof auditQuery>
export type AuditRecordAnswer = z.output<typeof auditRecord>
export type PlatformAuditRecordAnswer = z.output<typeof platformAuditRecord>
