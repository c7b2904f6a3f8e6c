import type { Clock } from '#shared/clock.ts'
import { createController, type Reconcile } from '#shared/kube/controller.ts'
import type { KubeMetrics } from '#shared/kube/metrics.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import type { Backoff } from '#shared/kube/queue.ts'
import type { Reflector } from '#shared/kube/reflector.ts'
import type { Change } from '#shared/kube/store.ts'
import type { Log } from '#shared/log.ts'

const reconcileTimeoutMs = 60_000
/** The rate at which one resource is reconciled. Changes in between are seen together. */
const pace = { burst: 20, refillMs: 250 }
/** The rate of status writes in one namespace that only acknowledge a spec. Many edits of one tenant share it. */
export const acknowledgementPace = { burst: 50, refillMs: 50 }
/** The limit for the first lists; after it, the process ends with an error. */
const firstListMs = 3_600_000

/** The part of a cache that a controller needs to wait for it. */
type Cache = Pick<Reflector<KubeObject>, 'run' | 'hasSynced' | 'synced'>

/** A controller of the process. */
export type ResourceController = {
  /** Reports whether all caches are filled. */
  ready(): boolean
  /** Reports whether keys wait for a worker. */
  isBusy(): boolean
  /** Keeps caches and queue filled until the signal is aborted; in a standby replica too, since it writes nothing. */
  watch(signal: AbortSignal): Promise<void>
  /** Reconciles queued keys until the signal is aborted. Only the leader does. */
  reconcile(signal: AbortSignal): Promise<void>
}

/**
 * Creates the controller of one kind of resource. `ownCaches` are run by it; `otherCaches` are run by another controller
 * and only waited for.
 */
export const createResourceController = (options: {
  readonly name: string
  readonly workers: number
  readonly reconcile: Reconcile
  readonly ownCaches: readonly Cache[]
  readonly otherCaches: readonly Cache[]
  /** The numbers of cached objects, for the log. */
  readonly sizes: () => Record<string, number>
  readonly backoff: Backoff
  readonly clock: Clock
  readonly log: Log
  readonly metrics: KubeMetrics
}) => {
  const { ownCaches, otherCaches, log } = options
  const controller = createController({ ...options, reconcileTimeoutMs, pace })
  const caches = [...ownCaches, ...otherCaches]
  const resourceController: ResourceController = {
    ready: () => caches.every((cache) => cache.hasSynced()),
    isBusy: () => controller.depth() > 0,
    watch: async (signal) => {
      await Promise.all(ownCaches.map((cache) => cache.run(signal)))
    },
    reconcile: async (signal) => {
      await Promise.all(caches.map((cache) => cache.synced({ timeoutMs: firstListMs, signal })))
      if (!signal.aborted) log.info(options.sizes(), 'caches synced')
      await controller.run(signal)
    },
  }
  return { ...resourceController, enqueue: controller.enqueue }
}

/** Calls `changed` when the digest of an object changes, and when the object is deleted. */
export const onDigestChange = <T extends KubeObject>(
  cache: Reflector<T>,
  digestOf: (object: T) => string,
  changed: (object: T, change: Change<T>) => void,
): void => {
  cache.onChange((change) => {
    if (change.type === 'updated' && digestOf(change.object) === digestOf(change.old)) return
    changed(change.object, change)
  })
}
