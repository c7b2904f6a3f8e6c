import type { ObjectMeta } from '#shared/kube/objects.ts'
import { namespaceOf } from '#shared/resources/group.ts'
import type { SyncedRow } from './synced.ts'

/**
 * The relation of a live resource to the row whose id is its name.
 *
 * - `own`: the resource of the row: the namespace of the row's organization and the uid on record, or no uid on record.
 * - `successor`: the same namespace and another uid. It is the row's resource only once a live read shows that the uid on
 *   record is gone; the caller names that uid as `replacedUid` then.
 * - `stranger`: a resource of another namespace. It never changes the row.
 */
export type Identity = 'own' | 'successor' | 'stranger'

/** Classifies a live resource by namespace and then by uid. */
export const identify = (
  row: Pick<SyncedRow, 'organizationId' | 'resourceUid'>,
  { namespace, uid }: Pick<ObjectMeta, 'namespace' | 'uid'>,
  { namespacePrefix, replacedUid }: { namespacePrefix: string; replacedUid?: string | undefined },
): Identity => {
  if (namespace !== namespaceOf(namespacePrefix, row.organizationId)) return 'stranger'
  if (row.resourceUid === null || row.resourceUid === uid || row.resourceUid === replacedUid) return 'own'
  return 'successor'
}

/** Returns the organization that a namespace name belongs to, or undefined for a name without the prefix. */
export const organizationOf = (namespacePrefix: string, namespace: string | undefined): string | undefined => {
  const start = namespaceOf(namespacePrefix, '')
  return namespace?.startsWith(start) ? namespace.slice(start.length) : undefined
}
