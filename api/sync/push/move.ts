import { and, eq, isNull, ne, sql } from 'drizzle-orm'
import { botDeployments } from '#api/domain/bots/table.ts'
import { worlds } from '#api/domain/worlds/table.ts'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { markAllDirty } from '#api/platform/outbox/outbox.ts'
import { readObject } from '#api/sync/clusters/deletionCause.ts'
import type { Adapter, ReconcileDeps, Types } from '#api/sync/reconcile/kind.ts'
import { reconcileRow } from '#api/sync/reconcile/reconcileRow.ts'
import { isReplaced, type Kind, lockSynced, markRow, setWaitingMessage, tables } from '#api/sync/rows/synced.ts'
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
  const { kind } = adapter
  const client = adapter.clientOf(deps)
  const next = kind === 'world' ? row.targetCluster : await recordBotsTarget(deps.db, row.id)
  // The world of the bots is still on its way here.
  if (next === 'later') return later
  if (next === null) return undefined
  if (kind === 'world') await markBotsElsewhere(deps.db, row.id, next)
  const reference = { namespace: namespaceOf(deps.namespacePrefix, row.organizationId), name: row.resourceName }
  const live = await readObject(client, reference)
  if (live === undefined || isReplaced(row, live.metadata)) {
    await deps.gate.check({ fresh: true })
    await namespaces.refuseTerminating(row.organizationId)
    await finishMove(deps, kind, row.id)
    return { is: 'done' }
  }
  const holder = kind === 'world' ? 'its server' : 'its bots'
  await setWaitingMessage(
    deps.db,
    kind,
    row.id,
    `it moves from the cluster ${deps.cluster} to the cluster ${next}, where it is created once ${holder} and its resource are gone.`,
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
 * Returns the cluster that bots move to, and records it first. Returns null if they stay, and 'later' if they have arrived
 * before their world.
 */
const recordBotsTarget = async (db: Database, id: string): Promise<string | 'later' | null> => {
  const [row] = await db
    .select({
      cluster: botDeployments.cluster,
      targetCluster: botDeployments.targetCluster,
      worldCluster: worlds.cluster,
      worldTarget: worlds.targetCluster,
    })
    .from(botDeployments)
    .innerJoin(worlds, eq(worlds.id, botDeployments.worldId))
    .where(eq(botDeployments.id, id))
  if (row === undefined) return null
  const wanted = row.worldTarget ?? row.worldCluster
  if (row.targetCluster === null && wanted === row.cluster) return row.worldCluster === row.cluster ? null : 'later'
  if (row.targetCluster !== wanted) {
    await db.update(botDeployments).set({ targetCluster: wanted }).where(eq(botDeployments.id, id))
  }
  return wanted
}

/** Marks the bots of a world dirty that are neither in a cluster nor on their way to it. */
const markBotsElsewhere = async (db: Database, worldId: string, cluster: string): Promise<void> =>
  db.transaction(async (tx) => {
    const isOnItsWay = sql`${botDeployments.targetCluster} is not distinct from ${cluster}`
    const others = await selectBots(tx, worldId, and(ne(botDeployments.cluster, cluster), sql`not (${isOnItsWay})`))
    await markAllDirty(tx, 'bot', others)
  })

const selectBots = (tx: Transaction, worldId: string, more?: ReturnType<typeof and>) =>
  tx
    .select({ id: botDeployments.id, revision: botDeployments.revision })
    .from(botDeployments)
    .where(and(eq(botDeployments.worldId, worldId), isNull(botDeployments.removedAt), more))

/**
 * Gives a row to the cluster that it moves to. The resource there has the id as its name, since others may have the old name.
 * The higher revision shows that a resource which appears here later is a leftover.
 */
const finishMove = (deps: ReconcileDeps, kind: Kind, id: string): Promise<void> =>
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
    if (kind === 'world') await renameWorldOfBots(tx, id)
    deps.log.info({ [kind]: id, target: row.targetCluster }, 'push: moved to another cluster')
  })

/** Gives the bots of a moved world its new name, and marks all of them dirty. */
const renameWorldOfBots = async (tx: Transaction, worldId: string): Promise<void> => {
  await tx
    .update(botDeployments)
    .set({ worldName: worldId, revision: sql`${botDeployments.revision} + 1` })
    .where(and(eq(botDeployments.worldId, worldId), ne(botDeployments.worldName, worldId)))
  await markAllDirty(tx, 'bot', await selectBots(tx, worldId))
}
