import type { Transaction } from '#api/platform/database/client.ts'
import { type DeletionCause, readCauseOfLoss, readObject } from '#api/sync/clusters/deletionCause.ts'
import type { LagMetrics } from '#api/sync/metrics.ts'
import type { Findings } from '#api/sync/reconcile/findings.ts'
import type { Adapter, ReconcileDeps, Types } from '#api/sync/reconcile/kind.ts'
import { deleteUnclaimed, isNewResource } from '#api/sync/reconcile/newResource.ts'
import { reconcileRow } from '#api/sync/reconcile/reconcileRow.ts'
import { isNotSynced, mayBeAllowed } from '#api/sync/reconcile/syncedCondition.ts'
import type { Echoes } from '#api/sync/rows/echoes.ts'
import { organizationOf } from '#api/sync/rows/identity.ts'
import { findRowId, forgetResource, isUnclaimed, type Kind, lockSynced, markRow } from '#api/sync/rows/synced.ts'
import { sleep } from '#shared/clock.ts'
import { createController, type Result } from '#shared/kube/controller.ts'
import type { KubeMetrics } from '#shared/kube/metrics.ts'
import { type KubeObject, objectKey, parseKey } from '#shared/kube/objects.ts'
import { createPacedKeys } from '#shared/kube/pace.ts'
import type { Reflector } from '#shared/kube/reflector.ts'
import type { Store } from '#shared/kube/store.ts'

const pullWorkers = 10
const pullTimeoutMs = 60_000
/** The rate at which one resource is pulled. Edits in between are merged together. */
const pullPace = { burst: 10, refillMs: 500 }
/** The rate in one namespace at which adoptions are tried again that were refused. */
const adoptionPace = { burst: 20, refillMs: 100 }

/** The interval for looking at resources again that kubectl created and that have no row yet. */
const retryMs = 15_000

/** The dependencies of pull. */
export type PullDeps = ReconcileDeps & {
  /** Makes the next sweep of a kind start soon. */
  readonly requestSweep: (kind: Kind) => void
  /** The resources that are as push applied them. */
  readonly echoes: Pick<Echoes, 'has' | 'pulled'>
  readonly findings: Findings
  readonly metrics: KubeMetrics
  readonly lag: LagMetrics
}

type PulledCache<Live extends KubeObject> = Pick<Reflector<Live>, 'onChange' | 'synced'> & {
  readonly store: Pick<Store<Live>, 'get' | 'list'>
}

/** Pulls the resources of one kind until the signal aborts: changes of the cache put keys in a queue, and workers pull these. */
export const pullKind = async <T extends Types>(
  adapter: Adapter<T>,
  deps: PullDeps,
  cache: PulledCache<T['live']>,
  signal: AbortSignal,
): Promise<void> => {
  const { kind } = adapter
  const { clock, log, metrics } = deps
  const timer = deps.lag.pullTimer(deps.cluster)
  const adoptions = createPacedKeys(clock, adoptionPace)
  const isUnadopted = (live: T['live']): boolean =>
    isNewResource(live) && organizationOf(deps.namespacePrefix, live.metadata.namespace) !== undefined
  const controller = createController({
    name: `pull-${kind}`,
    workers: pullWorkers,
    reconcile: async (key) => {
      const live = cache.store.get(key)
      const wasRefused = live !== undefined && isUnadopted(live) && isNotSynced(live)
      if (!wasRefused) adoptions.forget(key)
      const waitMs = wasRefused ? adoptions.waitMs(key) : 0
      if (waitMs > 0) return { requeueAfterMs: waitMs, priority: 'low' }
      const result = await pullResource(adapter, deps, key, live)
      timer.end(key)
      return result
    },
    reconcileTimeoutMs: pullTimeoutMs,
    backoff: { baseMs: 50, maxMs: 10_000 },
    pace: pullPace,
    clock,
    log,
    metrics,
  })
  cache.onChange(({ key, initial }) => {
    timer.begin(key)
    controller.enqueue(key, { priority: initial ? 'low' : 'normal' })
  })
  const working = controller.run(signal)
  // Before that, every resource with a finding would count as gone.
  await cache.synced({ timeoutMs: Number.MAX_SAFE_INTEGER, signal }).catch(() => undefined)
  while (!signal.aborted) {
    for (const live of cache.store.list())
      if (isUnadopted(live) || mayBeAllowed(live)) controller.enqueue(objectKey(live), { priority: 'low' })
    // What resolves a finding may change only the row, which pull does not see.
    for (const key of deps.findings.keys(kind)) controller.enqueue(key, { priority: 'low' })
    await sleep(clock, retryMs, signal)
  }
  await working
}

/** Reads one resource from the cache into its row. Undefined means that it was deleted. `key` is `namespace/name`. */
const pullResource = async <T extends Types>(
  adapter: Adapter<T>,
  deps: PullDeps,
  key: string,
  live: T['live'] | undefined,
): Promise<Result> => {
  const { kind } = adapter
  const name = { kind, key }
  const isEcho = live !== undefined && (await deps.echoes.has(name, live))
  if (!isEcho) deps.echoes.pulled(name, false)
  const { isMatched, result } =
    live === undefined || isEcho ? { isMatched: true, result: undefined } : await reconcileRow(adapter, deps, live)
  if (isMatched) await deps.findings.forget(kind, key)
  if (live === undefined) await pullGone(adapter, deps, key)
  if (!isEcho) deps.echoes.pulled(name, true)
  return result
}

/**
 * Handles a resource that is missing in the cache, which may be outdated. Marks a row that is being deleted: push reads the
 * cluster and then deletes the row. A resource that had no finalizer yet was deleted, unless its namespace or definition is
 * missing or terminating. A sweep recreates the resources of other rows.
 */
export const pullGone = async <T extends Types>(adapter: Adapter<T>, deps: PullDeps, key: string): Promise<void> => {
  const record = (loss?: Loss) => deps.transaction((tx) => recordLoss(adapter, deps, tx, { key, loss }))
  let next = await record()
  if (typeof next === 'object') {
    await deps.gate.check({ fresh: true })
    const loss = await readLoss(adapter, deps, { key, uid: next.lostUid })
    if (loss === undefined) return
    next = await record(loss)
  }
  if (next === 'sweep') deps.requestSweep(adapter.kind)
  if (next === 'push') deps.wake()
}

/** The reason why a resource that had no finalizer is gone. */
type Loss = { readonly uid: string | null; readonly cause: DeletionCause }

/** Reads why a resource is gone from the API server. Undefined if it still exists, so that the cache is outdated. */
const readLoss = async <T extends Types>(
  adapter: Adapter<T>,
  deps: PullDeps,
  { key, uid }: { key: string; uid: string | null },
): Promise<Loss | undefined> => {
  const { namespace = '', name } = parseKey(key)
  const client = adapter.clientOf(deps)
  const live = await readObject(client, { namespace, name })
  if (live?.metadata.uid === uid) return undefined
  return { uid, cause: await readCauseOfLoss(deps, client.resource, { namespace, now: new Date(deps.clock.now()) }) }
}

/** The next step for a row: a push, a sweep, which decides, or a read of the cause of the loss of a resource, which must be read first. */
type AfterLoss = 'push' | 'sweep' | { readonly lostUid: string | null }

/** Marks the row of a missing resource, if it is being deleted or has no finalizer in the cluster yet. */
const recordLoss = async <T extends Types>(
  adapter: Adapter<T>,
  deps: PullDeps,
  tx: Transaction,
  { key, loss }: { key: string; loss: Loss | undefined },
): Promise<AfterLoss | undefined> => {
  const { kind } = adapter
  const { namespace, name } = parseKey(key)
  const organizationId = organizationOf(deps.namespacePrefix, namespace)
  const id = await findRowId(tx, kind, { organizationId, cluster: deps.cluster, name })
  const row = id === undefined ? undefined : await lockSynced(tx, kind, id)
  if (row === undefined || (row.deletingAt === null && row.resourceUid === null)) return undefined
  if (deps.cluster !== row.cluster || organizationId !== row.organizationId) return undefined
  if (name !== row.resourceName) return undefined
  if (row.deletingAt === null && row.targetCluster === null) {
    if (!isUnclaimed(row)) return 'sweep'
    // The cause that was read may be that of an earlier resource with this name.
    if (loss?.uid !== row.resourceUid) return { lostUid: row.resourceUid }
    if (loss.cause.isIntended) {
      await deleteUnclaimed(adapter, deps, tx, row)
      return 'push'
    }
    await forgetResource(tx, kind, row.id)
  }
  // Push deletes a row that is being deleted, or finishes the move that deleted the resource.
  await markRow(tx, kind, row)
  return 'push'
}
