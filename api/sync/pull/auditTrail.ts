import { insertAuditRecord } from '#api/platform/audit/service.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import type { Kind } from '#api/sync/rows/synced.ts'
import type { Clock } from '#shared/clock.ts'
import type { NewId } from '#shared/ids.ts'
import type { ObjectMeta } from '#shared/kube/objects.ts'
import { fieldManagers } from '#shared/resources/group.ts'

/** A change of a resource that is adopted into its row. */
export type AdoptedChange = {
  readonly kind: Kind
  readonly change: 'creation' | 'edit' | 'deletion' | 'expiry'
  /** JSON Pointers of the changed leaves of the spec. */
  readonly fields?: readonly string[]
  /** The field manager of the change. Kubernetes does not record who deletes a resource. */
  readonly editor?: string | undefined
}

type Row = { readonly id: string; readonly organizationId: string; readonly projectId: string }

/** Writes the audit record of an adopted change, in the transaction of the change. */
export const recordAdoptedChange = (
  { clock, newId }: { readonly clock: Clock; readonly newId: NewId },
  tx: Transaction,
  row: Row,
  { kind, change, fields = [], editor = '' }: AdoptedChange,
): Promise<void> => {
  const named = [...new Set(fields.map(withoutMapKey))].slice(0, maxFields)
  return insertAuditRecord(tx, {
    id: newId('audit'),
    createdAt: new Date(clock.now()),
    organizationId: row.organizationId,
    projectId: row.projectId,
    ...(change === 'expiry'
      ? { door: 'system', actorKind: 'system', actorId: '' }
      : { door: 'kubectl', actorKind: 'manager', actorId: editor }),
    action: `${verbs[change]}${kind === 'world' ? 'World' : 'BotDeployment'}`,
    resources: [row.id],
    fields: named,
    address: '',
    requestId: '',
  })
}

const maxFields = 64
const verbs = { creation: 'create', edit: 'patch', deletion: 'delete', expiry: 'delete' } as const

/** Removes the keys of metadata, which are the tenant's data and belong in no record. */
const withoutMapKey = (pointer: string): string => pointer.replace(/^(\/metadata\/[^/]+)\/.*$/, '$1')

const ownManagers: readonly (string | undefined)[] = Object.values(fieldManagers)

/** Returns the manager that last edited the resource, the API and the operator aside; '' if none is on record. */
export const readEditor = ({ managedFields = [] }: ObjectMeta): string => {
  const edits = managedFields
    .filter(({ manager, subresource }) => !subresource && !ownManagers.includes(manager))
    .sort((a, b) => String(a.time).localeCompare(String(b.time)))
  return edits.at(-1)?.manager ?? ''
}
