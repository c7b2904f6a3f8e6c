import type { Transaction } from '#api/platform/database/client.ts'
import { type DeletionCause, readCauseOfLoss, readObject } from '#api/sync/clusters/deletionCause.ts'
import type { Adapter, ReconcileDeps, Types } from '#api/sync/reconcile/kind.ts'
import { deleteUnclaimed } from '#api/sync/reconcile/newResource.ts'
import { organizationOf } from '#api/sync/rows/identity.ts'
import {
  findRowId,
  forgetResource,
  isUnclaimed,
  type Kind,
  lockSynced,
  markRow,
  type SyncedRow,
} from '#api/sync/rows/synced.ts'
import { parseKey } from '#shared/kube/objects.ts'

/** The dependencies of pull for a resource that is missing. */
export type GoneDeps = ReconcileDeps & {
  /** Makes the next sweep of a kind start soon. */
  readonly requestSweep: (kind: Kind) => void
}

/**
 * Handles a resource that is missing in the cache, which may be outdated. Marks a row that is being deleted: push reads the
 * cluster and then deletes the row. A resource that had no finalizer yet was deleted, unless its namespace or definition is
 * missing or terminating. A sweep recreates the resources of other rows.
 */
export const pullGone = async <T extends Types>(adapter: Adapter<T>, deps: GoneDeps, key: string): Promise<void> => {
  const record = (loss?: Loss) => deps.transaction((tx) => recordLoss(adapter, deps, tx, { key, loss }))
  let result = await record()
  if (result?.needsCause) {
    await deps.gate.check({ fresh: true })
    const loss = await readLoss(adapter, deps, { key, uid: result.row.resourceUid })
    if (loss === undefined) return
    result = await record(loss)
  }
  if (result === undefined || result.needsCause) return
  if (result.needsSweep) deps.requestSweep(adapter.kind)
  else deps.wake()
}

/** The reason why a resource that had no finalizer is gone. */
type Loss = { readonly uid: string | null; readonly cause: DeletionCause }

/** Reads why a resource is gone from the API server. Undefined if it still exists, so that the cache is outdated. */
const readLoss = async <T extends Types>(
  adapter: Adapter<T>,
  deps: GoneDeps,
  { key, uid }: { key: string; uid: string | null },
): Promise<Loss | undefined> => {
  const { namespace = '', name } = parseKey(key)
  const client = adapter.clientOf(deps)
  const live = await readObject(client, { namespace, name })
  if (live?.metadata.uid === uid) return undefined
  return { uid, cause: await readCauseOfLoss(deps, client.resource, { namespace, now: new Date(deps.clock.now()) }) }
}

type RecordedLoss = {
  readonly row: SyncedRow
  /** Nothing was written: the cause of the loss must be read first. */
  readonly needsCause?: true
  /** Nothing was written: a sweep decides. */
  readonly needsSweep?: true
}

/** Marks the row of a missing resource, if it is being deleted or has no finalizer in the cluster yet. */
const recordLoss = async <T extends Types>(
  adapter: Adapter<T>,
  deps: GoneDeps,
  tx: Transaction,
  { key, loss }: { key: string; loss: Loss | undefined },
): Promise<RecordedLoss | undefined> => {
  const { kind } = adapter
  const { namespace, name } = parseKey(key)
  const organizationId = organizationOf(deps.namespacePrefix, namespace)
  const id = await findRowId(tx, kind, { organizationId, cluster: deps.cluster, name })
  const row = id === undefined ? undefined : await lockSynced(tx, kind, id)
  if (row === undefined || (row.deletingAt === null && row.resourceUid === null)) return undefined
  if (deps.cluster !== row.cluster || organizationId !== row.organizationId) return undefined
  if (name !== row.resourceName) return undefined
  if (row.deletingAt === null && row.targetCluster !== null) {
    // The move of the row deleted the resource. Push finishes the move.
    await markRow(tx, kind, row)
    return { row }
  }
  if (row.deletingAt === null && !isUnclaimed(row)) return { row, needsSweep: true }
  if (row.deletingAt === null) {
    // The cause that was read may be that of an earlier resource with this name.
    if (loss?.uid !== row.resourceUid) return { row, needsCause: true }
    if (loss.cause.isIntended) {
      await deleteUnclaimed(adapter, deps, tx, row)
      return { row: { ...row, deletingAt: new Date(deps.clock.now()) } }
    }
  }
  if (row.deletingAt === null) await forgetResource(tx, kind, row.id)
  await markRow(tx, kind, row)
  return { row }
}
