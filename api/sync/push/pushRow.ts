import { isDeepStrictEqual } from 'node:util'
import { readObject } from '#api/sync/clusters/deletionCause.ts'
import { toMergePatch } from '#api/sync/merge/leaves.ts'
import type { createNamespaces } from '#api/sync/namespaces/namespace.ts'
import type { Adapter, ReconcileDeps, Types } from '#api/sync/reconcile/kind.ts'
import { reconcileRow } from '#api/sync/reconcile/reconcileRow.ts'
import { type Desired, toDesired, withTraceparent } from '#api/sync/rows/desired.ts'
import { echoOf } from '#api/sync/rows/echoes.ts'
import {
  clearWaitingMessage,
  isQuotaUncounted,
  isReplaced,
  type Kind,
  readOwner,
  removeRow,
  type SyncedRow,
} from '#api/sync/rows/synced.ts'
import type { Client, Resource } from '#shared/kube/client.ts'
import { isForbidden, isNotFound, KubeError } from '#shared/kube/errors.ts'
import { type KubeObject, objectKey } from '#shared/kube/objects.ts'
import { withDefined } from '#shared/optional.ts'
import { fieldManagers, isPaused, namespaceOf } from '#shared/resources/group.ts'
import { moveAway } from './move.ts'
import type { Pushed } from './settle.ts'

/** The dependencies of the push of a row. `reconcile` are those with which it first merges what no pull has read. */
export type PushRowDeps = {
  readonly reconcile: ReconcileDeps
  readonly namespaces: ReturnType<typeof createNamespaces>
}

/** A row as it was after its claim. */
export type Pushable = {
  readonly kind: Kind
  /** The key of its resource. */
  readonly key: string
  readonly hasPushRefusal: boolean
  /** Applies or deletes the resource. A repeated push may find a resource that an earlier one made without recording it. */
  readonly push: (options: {
    readonly isRepeated: boolean
    readonly traceparent: string | undefined
  }) => Promise<Pushed>
  /** Compares the resource with the row, so that its condition Synced shows whether pushes are refused. */
  readonly show: () => Promise<void>
}

/** The interval for checking a deletion that waits for its server, in case its event is missed. */
const deletionPollMs = 2_000
/** The interval for checking a paused resource. Changes of its row wait for the end of the pause. */
const pausedPollMs = 2_000
/** The interval for checking whether the bot rows of a deleted world are gone. */
const botsPollMs = 200

/**
 * Returns the rows of a kind with some ids, by id. `cached` returns a resource from the cache of pull, or undefined if it is not
 * there. A replica that does not pull has no cache.
 */
export const readPushable = async <T extends Types>(
  adapter: Adapter<T>,
  deps: PushRowDeps,
  cached: (key: string) => T['live'] | undefined,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Pushable>> => {
  const rows = ids.length === 0 ? [] : await adapter.readPushed(deps.reconcile.db, ids)
  return new Map(rows.map((row) => [row.id, toPushable(adapter, deps, row, cached)]))
}

const toPushable = <T extends Types>(
  adapter: Adapter<T>,
  deps: PushRowDeps,
  row: T['pushed'],
  cached: (key: string) => T['live'] | undefined,
): Pushable => {
  const reference = referenceOf(deps, row)
  return {
    kind: adapter.kind,
    key: objectKey(reference),
    hasPushRefusal: row.pushRefusal !== null,
    push: (attempt) => pushRow(adapter, deps, row, { ...attempt, cached }),
    show: async () => {
      const live = await readObject(adapter.clientOf(deps.reconcile), reference)
      if (live !== undefined) await reconcileRow(adapter, deps.reconcile, live)
    },
  }
}

type Attempt<T extends Types> = {
  readonly isRepeated: boolean
  /** The trace of the request that changed the row. */
  readonly traceparent: string | undefined
  readonly cached: (key: string) => T['live'] | undefined
}

const done: Pushed = { is: 'done' }
const later = (delayMs: number): Pushed => ({ is: 'later', delayMs })

/** Applies or deletes the resource of a row. */
const pushRow = async <T extends Types>(
  adapter: Adapter<T>,
  deps: PushRowDeps,
  known: T['pushed'],
  attempt: Attempt<T>,
): Promise<Pushed> => {
  const { cluster } = deps.reconcile
  if (known.cluster !== cluster) return { is: 'elsewhere' }
  if (known.deletingAt === null) {
    const moved = await moveAway(adapter, deps, known)
    if (moved !== undefined) return moved
  }
  const live = known.deletingAt === null ? await readLive(adapter, deps, known, attempt) : undefined
  // If the resource is paused between this check and the apply, its version has changed and the apply is refused.
  if (live !== undefined && isPaused(live)) return later(pausedPollMs)
  const row = live === undefined ? known : await mergeFirst(adapter, deps, known, live)
  if (row === undefined) return done
  if (row.deletingAt !== null) return remove(adapter, deps, row)
  return applyRow(adapter, deps, row, { live, traceparent: attempt.traceparent })
}

/** Merges a version of the resource that no pull has read yet. Returns the row after that. */
const mergeFirst = async <T extends Types>(
  adapter: Adapter<T>,
  { reconcile }: PushRowDeps,
  row: T['pushed'],
  live: T['live'],
): Promise<T['pushed'] | undefined> => {
  if (live.metadata.resourceVersion === row.appliedResourceVersion) return row
  await reconcileRow(adapter, reconcile, live)
  return (await adapter.readPushed(reconcile.db, [row.id]))[0]
}

/** Applies the full intent of a row. */
const applyRow = async <T extends Types>(
  adapter: Adapter<T>,
  deps: PushRowDeps,
  row: T['pushed'],
  { live, traceparent }: { live: T['live'] | undefined; traceparent: string | undefined },
): Promise<Pushed> => {
  const { kind } = adapter
  const { reconcile, namespaces } = deps
  const client = adapter.clientOf(reconcile)
  await namespaces.ensure(row.organizationId)
  const desiredOf = (pushed: T['pushed']) => toDesired(adapter, pushed, reconcile.namespacePrefix)
  const desired = withTraceparent(desiredOf(row), live, traceparent)
  const resourceVersion = live && (await removeUnwanted(client, live, desired))
  const wanted = { ...desired, metadata: { ...desired.metadata, ...withDefined({ resourceVersion }) } }
  const apply = (object: Desired<T['spec']>) =>
    client.apply(object, { fieldManager: fieldManagers.api, force: true }).catch(async (error: unknown) => {
      if (isQuotaUncounted(error)) await namespaces.recount(row.organizationId)
      // Without its namespace the API has no rights there, so the answer is a 403.
      if (isNotFound(error) || isForbidden(error)) namespaces.forget(row.organizationId)
      throw isMissingDefinition(error) ? missingDefinition(client.resource) : error
    })
  let applied = await apply(wanted)
  let { spec } = desired
  if (row.resourceUid === null) {
    // A grant names the uid of its resource, which only the first apply tells.
    const { uid = null, resourceVersion: appliedResourceVersion = null } = applied.metadata
    const complete = desiredOf({ ...row, resourceUid: uid, appliedResourceVersion })
    if (!isDeepStrictEqual(complete.spec, spec)) {
      applied = await apply(withTraceparent(complete, applied, traceparent))
      spec = complete.spec
    }
  }
  await clearWaitingMessage(reconcile.db, kind, row)
  reconcile.log.info({ [kind]: row.id, revision: row.revision }, 'push: applied')
  const echo = echoOf(applied, spec, adapter.isStatusIgnored(row, applied))
  return { is: 'done', applied: { row, spec, metadata: applied.metadata }, echo }
}

/** Reports whether the API server does not know the kind. A missing namespace is named in the answer. */
const isMissingDefinition = (error: unknown): boolean =>
  error instanceof KubeError && isNotFound(error) && !error.message.includes('namespaces "')

const missingDefinition = ({ plural, group }: Resource): KubeError =>
  new KubeError({ message: `The definition ${plural}.${group} is missing in the cluster. Install it.`, status: 404 })

/**
 * Returns the resource on record, or undefined if there is none. A cached resource with the version on record needs no request. The
 * apply names that version, so the API server refuses it if the resource has changed.
 */
const readLive = async <T extends Types>(
  adapter: Adapter<T>,
  deps: PushRowDeps,
  row: T['pushed'],
  { cached, isRepeated }: Attempt<T>,
): Promise<T['live'] | undefined> => {
  if (row.resourceUid === null && !isRepeated) return undefined
  const reference = referenceOf(deps, row)
  // The first attempt may have failed because the cache was stale.
  const known = isRepeated ? undefined : cached(objectKey(reference))
  const isOnRecord =
    known?.metadata.uid === row.resourceUid && known.metadata.resourceVersion === row.appliedResourceVersion
  return isOnRecord ? known : readObject(adapter.clientOf(deps.reconcile), reference)
}

/**
 * Removes the fields that the row does not have and that others manage, which an apply would leave. The same request writes
 * the whole spec, so that a reader of the revision never sees such a field. It is refused if the definition does not know a field
 * of the spec. Returns the new resourceVersion, or undefined if there was nothing to remove.
 */
const removeUnwanted = async <T extends KubeObject & { spec: object }>(
  client: Client<T>,
  live: T,
  { metadata, spec }: Desired<unknown>,
): Promise<string | undefined> => {
  const { annotations } = metadata
  const patch = toMergePatch(live.spec, spec)
  if (patch === undefined) return undefined
  const { uid, resourceVersion } = live.metadata
  const patched = await client.patch(
    metadata,
    { metadata: { uid, resourceVersion, ...withDefined({ annotations }) }, spec: patch },
    { fieldManager: fieldManagers.api, strict: true },
  )
  return patched.metadata.resourceVersion
}

const referenceOf = ({ reconcile }: PushRowDeps, row: SyncedRow) => ({
  namespace: namespaceOf(reconcile.namespacePrefix, row.organizationId),
  name: row.resourceName,
})

/** Deletes the resource, or deletes the row if the resource no longer exists. A deleted organization ends pauses. */
const remove = async <T extends Types>(adapter: Adapter<T>, deps: PushRowDeps, row: T['pushed']): Promise<Pushed> => {
  const { reconcile } = deps
  const client = adapter.clientOf(reconcile)
  const reference = referenceOf(deps, row)
  try {
    const live = await client.get(reference)
    if (isPaused(live) && (await readOwner(reconcile.db, row.organizationId)) !== 'deleted') return later(pausedPollMs)
    const { metadata } = live
    // The name belongs to a newer resource by now, which has a row of its own.
    if (isReplaced(row, metadata)) return await finishRemoval(adapter, deps, row)
    if (metadata.deletionTimestamp === undefined) {
      await client.delete(reference, withDefined({ uid: metadata.uid }))
    }
    return later(deletionPollMs)
  } catch (error) {
    if (!isNotFound(error)) throw error
    await reconcile.gate.check({ fresh: true })
    return await finishRemoval(adapter, deps, row)
  }
}

const finishRemoval = async <T extends Types>(
  { kind }: Adapter<T>,
  { reconcile: { db, log } }: PushRowDeps,
  row: T['pushed'],
): Promise<Pushed> => {
  if (!(await removeRow(db, kind, row))) return later(botsPollMs)
  log.info({ [kind]: row.id }, 'push: deleted')
  return done
}
