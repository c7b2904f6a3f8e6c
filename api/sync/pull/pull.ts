import type { LagMetrics } from '#api/sync/metrics.ts'
import type { Findings } from '#api/sync/reconcile/findings.ts'
import type { Adapter, Types } from '#api/sync/reconcile/kind.ts'
import { isNewResource } from '#api/sync/reconcile/newResource.ts'
import { reconcileRow } from '#api/sync/reconcile/reconcileRow.ts'
import { isNotSynced, mayBeAllowed } from '#api/sync/reconcile/syncedCondition.ts'
import type { Echoes } from '#api/sync/rows/echoes.ts'
import { organizationOf } from '#api/sync/rows/identity.ts'
import { sleep } from '#shared/clock.ts'
import { createController, type Result } from '#shared/kube/controller.ts'
import type { KubeMetrics } from '#shared/kube/metrics.ts'
import { type KubeObject, objectKey } from '#shared/kube/objects.ts'
import { createPacedKeys } from '#shared/kube/pace.ts'
import type { Reflector } from '#shared/kube/reflector.ts'
import type { Store } from '#shared/kube/store.ts'
import { type GoneDeps, pullGone } from './gone.ts'

const pullWorkers = 10
const pullTimeoutMs = 60_000
/** The rate at which one resource is pulled. Edits in between are merged together. */
const pullPace = { burst: 10, refillMs: 500 }
/** The rate in one namespace at which adoptions are tried again that were refused. */
const adoptionPace = { burst: 20, refillMs: 100 }

/** The interval for looking at resources again that kubectl created and that have no row yet. */
const retryMs = 15_000

/** The dependencies of pull. */
export type PullDeps = GoneDeps & {
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
