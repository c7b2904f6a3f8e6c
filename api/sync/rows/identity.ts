import type { ObjectMeta } from '#shared/kube/objects.ts'
import { namespaceOf } from '#shared/resources/group.ts'
import type { SyncedRow } from './synced.ts'

/**
 * The relation of a live resource to the row whose id is its name.
 *
 * - `own`: the resource of the row: its cluster, the namespace of its organization and the uid on record, or no uid on record.
 * - `successor`: the same cluster and namespace and another uid. It is the row's resource only once a live read shows that the uid on
 *   record is gone; the caller names that uid as `replacedUid` then.
 * - `stranger`: a resource of another cluster or namespace. It never changes the row.
 */
export type Identity = 'own' | 'successor' | 'stranger'

/** Classifies a live resource of a cluster by cluster, namespace and uid. */
export const identify = (
  row: Pick<SyncedRow, 'cluster' | 'organizationId' | 'resourceName' | 'resourceUid'>,
  { namespace, name, uid }: Pick<ObjectMeta, 'namespace' | 'name' | 'uid'>,
  {
    cluster,
    namespacePrefix,
    replacedUid,
  }: { cluster: string; namespacePrefix: string; replacedUid?: string | undefined },
): Identity => {
  if (cluster !== row.cluster) return 'stranger'
  if (namespace !== namespaceOf(namespacePrefix, row.organizationId) || name !== row.resourceName) return 'stranger'
  if (row.resourceUid === null || row.resourceUid === uid || row.resourceUid === replacedUid) return 'own'
  return 'successor'
}

/** Returns the organization that a namespace name belongs to, or undefined for a name without the prefix. */
export const organizationOf = (namespacePrefix: string, namespace: string | undefined): string | undefined => {
  const start = namespaceOf(namespacePrefix, '')
  return namespace?.startsWith(start) ? namespace.slice(start.length) : undefined
}
