import type { ClusterStateRow } from '#api/domain/clusters/table.ts'
import { isOlder } from '#shared/kube/versions.ts'

/** The identity that a cluster shows: the uid of the namespace kube-system and the newest resourceVersion. */
export type SeenCluster = { readonly uid: string; readonly version: string }

/**
 * Decides whether a cluster is the accepted one. `known` must be read before the cluster, because its version grows. A
 * restored cluster stays refused until it is accepted, because its version grows past the recorded one.
 *
 * - `AnotherCluster`: the uid differs, so none of the recorded resources is there.
 * - `RestoredCluster`: the version is lower than one that the same cluster has shown, so it was restored from a backup.
 */
export const findRefusal = (
  known: Pick<ClusterStateRow, 'uid' | 'version' | 'refusal'>,
  seen: SeenCluster,
): ClusterStateRow['refusal'] => {
  if (known.uid !== seen.uid) return 'AnotherCluster'
  const isRestored = known.refusal === 'RestoredCluster' || isOlder(seen.version, known.version)
  return isRestored ? 'RestoredCluster' : null
}
