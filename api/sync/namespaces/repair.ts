import { isDeepStrictEqual } from 'node:util'
import { readObject } from '#api/sync/clusters/deletionCause.ts'
import { organizationOf } from '#api/sync/rows/identity.ts'
import type { Clock } from '#shared/clock.ts'
import { createController, type Result } from '#shared/kube/controller.ts'
import { isNotFound } from '#shared/kube/errors.ts'
import type { KubeMetrics } from '#shared/kube/metrics.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { createReflector, type Reflector } from '#shared/kube/reflector.ts'
import type { Change } from '#shared/kube/store.ts'
import type { Log } from '#shared/log.ts'
import { ownNamespace } from '#shared/resources/cached.ts'
import { apiFinalizer, labels, namespaceOf } from '#shared/resources/group.ts'
import { type createNamespaces, isTerminatingNamespace, type NamespaceClients } from './namespace.ts'
import { isRelevantChange, type Kept, type KeptStores, type RoleBinding } from './namespaceObjects.ts'

const workers = 2
const repairTimeoutMs = 30_000
/** The wait before a new namespace is checked: this API or another replica may still be making its objects. */
const settleMs = 1_000

/** The interval for checking whether the resources of a terminating namespace are gone. */
const drainPollMs = 1_000

type RepairOptions = {
  readonly clients: NamespaceClients
  /** The kinds whose resources need the rights of a terminating namespace. */
  readonly resources: readonly { list(of: { namespace: string }): Promise<{ items: readonly KubeObject[] }> }[]
  readonly namespaces: ReturnType<typeof createNamespaces>
  readonly namespacePrefix: string
  readonly clock: Clock
  readonly log: Log
  readonly metrics: KubeMetrics
  readonly signal: AbortSignal
}

/**
 * Watches the namespaces of organizations with the objects that the API keeps there, and restores those that are changed or
 * missing.
 */
export const repairNamespaces = async (options: RepairOptions): Promise<void> => {
  const { namespaces, namespacePrefix, clock, log, metrics, signal } = options
  const caches = createCaches(options)
  const stores: KeptStores = {
    roleBindings: caches.roleBindings.store,
    networkPolicies: caches.networkPolicies.store,
    resourceQuotas: caches.resourceQuotas.store,
    limitRanges: caches.limitRanges.store,
    serviceAccounts: caches.serviceAccounts.store,
  }
  const all = Object.values(caches)
  const controller = createController({
    name: 'repair',
    workers,
    reconcile: async (organizationId) => {
      const namespace = namespaceOf(namespacePrefix, organizationId)
      const isOwn = await namespaces.owns(organizationId)
      const terminating = bindingNames
        .flatMap((name) => caches.roleBindings.store.get(`${namespace}/${name}`) ?? [])
        .filter(isHeldAndDeleted)
      if (terminating.length > 0) return endBindings(options, { namespace, isOwn }, terminating)
      if (!isOwn) return undefined
      const present = caches.namespaces.store.get(namespace)
      if (present === undefined || present.metadata.deletionTimestamp !== undefined) {
        // The next push recreates it.
        namespaces.forget(organizationId)
        return undefined
      }
      if (namespaces.isInProgress(organizationId)) return { requeueAfterMs: settleMs }
      try {
        if (await namespaces.repair(organizationId, present, stores)) {
          log.warn({ namespace }, 'repair: restored the roles, policies and quotas of a namespace')
        }
      } catch (error) {
        if (!isNotFound(error) && !isTerminatingNamespace(error)) throw error
        namespaces.forget(organizationId)
      }
      return undefined
    },
    reconcileTimeoutMs: repairTimeoutMs,
    backoff: { baseMs: 100, maxMs: 60_000 },
    clock,
    log,
    metrics,
  })
  const enqueue = (namespace: string | undefined, { type, initial }: Change<KubeObject>): void => {
    const organizationId = organizationOf(namespacePrefix, namespace)
    if (organizationId === undefined) return
    controller.enqueue(
      organizationId,
      type === 'added' && !initial ? { afterMs: settleMs } : { priority: initial ? 'low' : 'normal' },
    )
  }
  caches.namespaces.onChange((change) => {
    if (change.type === 'updated' && !isRelevantNamespaceChange(change.old, change.object)) return
    enqueue(change.object.metadata.name, change)
  })
  const follow = <K extends keyof Kept>(kind: K, cache: Reflector<Kept[K]>): void =>
    cache.onChange((change) => {
      if (change.type === 'updated' && !isRelevantChange(kind, change.old, change.object)) return
      enqueue(change.object.metadata.namespace, change)
    })
  follow('roleBindings', caches.roleBindings)
  follow('networkPolicies', caches.networkPolicies)
  follow('resourceQuotas', caches.resourceQuotas)
  follow('limitRanges', caches.limitRanges)
  follow('serviceAccounts', caches.serviceAccounts)
  const caching = all.map((cache) => cache.run(signal))
  // Until all caches are filled, every namespace would seem to lack objects.
  await Promise.all(all.map((cache) => cache.synced({ timeoutMs: Number.MAX_SAFE_INTEGER, signal }))).catch(
    () => undefined,
  )
  await Promise.all([...caching, controller.run(signal)])
}

const createCaches = ({ clients, clock, log, metrics }: RepairOptions) => {
  const common = { clock, random: Math.random, log, metrics }
  const own = { ...common, labelSelector: `${labels.managedBy}=orrery-api` }
  return {
    namespaces: createReflector({ ...common, client: clients.namespaces, keep: ownNamespace }),
    roleBindings: createReflector({ ...own, client: clients.roleBindings }),
    networkPolicies: createReflector({ ...own, client: clients.networkPolicies }),
    resourceQuotas: createReflector({ ...own, client: clients.resourceQuotas }),
    limitRanges: createReflector({ ...own, client: clients.limitRanges }),
    serviceAccounts: createReflector({ ...own, client: clients.serviceAccounts }),
  }
}

const isRelevantNamespaceChange = ({ metadata: before }: KubeObject, { metadata: after }: KubeObject): boolean =>
  !isDeepStrictEqual([before.labels, before.annotations], [after.labels, after.annotations])

const bindingNames = ['orrery-api-tenant', 'orrery-operator-tenant']

const isHeldAndDeleted = ({ metadata }: KubeObject): boolean =>
  metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(apiFinalizer) === true

/**
 * Removes the finalizer of deleted RoleBindings, in a terminating namespace only when its resources are gone. In a live
 * namespace the bindings are recreated after that.
 */
const endBindings = async (
  { clients, resources }: RepairOptions,
  { namespace, isOwn }: { namespace: string; isOwn: boolean },
  bindings: readonly RoleBinding[],
): Promise<Result> => {
  const live = await readObject(clients.namespaces, { name: namespace })
  const isTerminating = live?.metadata.deletionTimestamp !== undefined
  // Another API may own a live namespace. In a terminating one without resources, no one needs the bindings.
  if (!isOwn && !isTerminating) return undefined
  if (isTerminating) {
    const left = await Promise.all(resources.map((client) => client.list({ namespace })))
    if (left.some(({ items }) => items.length > 0)) return { requeueAfterMs: drainPollMs }
  }
  for (const { metadata } of bindings) {
    const finalizers = metadata.finalizers?.filter((each) => each !== apiFinalizer)
    const { name, uid, resourceVersion } = metadata
    await clients.roleBindings.patch({ namespace, name }, { metadata: { uid, resourceVersion, finalizers } })
  }
  return undefined
}
