import { eq } from 'drizzle-orm'
import { readObject } from '#api/sync/clusters/deletionCause.ts'
import type { Adapter, ReconcileDeps, Types } from '#api/sync/reconcile/kind.ts'
import { reconcileRow } from '#api/sync/reconcile/reconcileRow.ts'
import { isReplaced, lockSynced, markRow, setWaitingMessage, tables } from '#api/sync/rows/synced.ts'
import type { Client } from '#shared/kube/client.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { withDefined } from '#shared/optional.ts'
import { apiFinalizer, isPaused, namespaceOf } from '#shared/resources/group.ts'
import type { Pushed } from './settle.ts'

type MoveDeps = {
  readonly reconcile: ReconcileDeps
  /** Throws while the namespace of an organization is terminating. */
  readonly namespaces: { refuseTerminating(organizationId: string): Promise<void> }
}

/** The interval for checking whether the resource in the old cluster is gone, in case its event is missed. */
const later: Pushed = { is: 'later', delayMs: 2_000 }

/**
 * Does the next step of a row that moves to another cluster: deletes its resource here. Once the resource is gone, gives the row
 * to the other cluster, whose push creates the resource there. The finalizer keeps the resource until no server is left. Returns a
 * result of the push, or undefined if the row does not move.
 */
export const moveAway = async <T extends Types>(
  adapter: Adapter<T>,
  { reconcile: deps, namespaces }: MoveDeps,
  row: T['pushed'],
): Promise<Pushed | undefined> => {
  const { kind, move } = adapter
  const client = adapter.clientOf(deps)
  const next = await move.findTarget(deps.db, row)
  if (next === 'later') return later
  if (next === null) return undefined
  await move.begin?.(deps.db, row.id, next)
  const reference = { namespace: namespaceOf(deps.namespacePrefix, row.organizationId), name: row.resourceName }
  const live = await readObject(client, reference)
  if (live === undefined || isReplaced(row, live.metadata)) {
    await deps.gate.check({ fresh: true })
    await namespaces.refuseTerminating(row.organizationId)
    await finishMove(adapter, deps, row.id)
    return { is: 'done' }
  }
  await setWaitingMessage(
    deps.db,
    kind,
    [row.id],
    `it moves from the cluster ${deps.cluster} to the cluster ${next}, where it is created once ${move.holder} and its resource are gone.`,
  )
  // A resource that is ahead freezes the row until "orrery sync release".
  const isAhead = (live.spec.revision ?? 0) > row.revision
  if (isPaused(live) || isAhead || live.metadata.deletionTimestamp !== undefined) return later
  // Edits that no pull has read move with the row.
  if (live.metadata.resourceVersion !== row.appliedResourceVersion) await reconcileRow(adapter, deps, live)
  await deleteHeld(client, live)
  return later
}

/** Deletes this version of a resource. The resource keeps its finalizer until the operator has reported that no pod is left. */
const deleteHeld = async <T extends KubeObject>(client: Client<T>, { metadata }: T): Promise<void> => {
  const { uid, finalizers = [] } = metadata
  const isHeld = finalizers.includes(apiFinalizer)
  const { resourceVersion } = isHeld
    ? metadata
    : (
        await client.patch(metadata, {
          metadata: { uid, resourceVersion: metadata.resourceVersion, finalizers: [...finalizers, apiFinalizer] },
        })
      ).metadata
  await client.delete(metadata, withDefined({ uid, resourceVersion }))
}

/**
 * Gives a row to the cluster that it moves to. The resource there has the id as its name, since others may have the old name.
 * The higher revision shows that a resource which appears here later is a leftover.
 */
const finishMove = <T extends Types>({ kind, move }: Adapter<T>, deps: ReconcileDeps, id: string): Promise<void> =>
  deps.db.transaction(async (tx) => {
    const row = await lockSynced(tx, kind, id)
    if (row === undefined || row.cluster !== deps.cluster || row.targetCluster === null || row.deletingAt !== null)
      return
    const moved = {
      cluster: row.targetCluster,
      targetCluster: null,
      applied: null,
      appliedResourceVersion: null,
      resourceUid: null,
      resourceName: id,
      revision: row.revision + 1,
    }
    const table = tables[kind]
    await tx.update(table).set(moved).where(eq(table.id, id))
    await markRow(tx, kind, { ...row, revision: moved.revision })
    await move.finish?.(tx, id)
    deps.log.info({ [kind]: id, target: row.targetCluster }, 'push: moved to another cluster')
  })
