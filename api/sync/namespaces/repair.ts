import { isDeepStrictEqual } from 'node:util'
import type { Database } from '#api/platform/database/client.ts'
import { readObject } from '#api/sync/clusters/deletionCause.ts'
import { organizationOf } from '#api/sync/rows/identity.ts'
import { type OrganizationState, readOwner } from '#api/sync/rows/synced.ts'
import { type Clock, sleep } from '#shared/clock.ts'
import { createController, type Result } from '#shared/kube/controller.ts'
import { isNotFound } from '#shared/kube/errors.ts'
import type { KubeMetrics } from '#shared/kube/metrics.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { createReflector, type Reflector } from '#shared/kube/reflector.ts'
import type { Change, Store } from '#shared/kube/store.ts'
import type { Log } from '#shared/log.ts'
import { withDefined } from '#shared/optional.ts'
import { ownNamespace } from '#shared/resources/cached.ts'
import { apiFinalizer, labels, namespaceOf } from '#shared/resources/group.ts'
import { readPolicy } from '#shared/resources/namespacePolicy.ts'
import type { HostPortCheck } from './hostPortCheck.ts'
import { type createNamespaces, isTerminatingNamespace, type NamespaceClients } from './namespace.ts'
import { isRelevantChange, type Kept, type KeptStores, type RoleBinding } from './namespaceObjects.ts'

const workers = 2
const repairTimeoutMs = 30_000
/** The wait before a new namespace is checked: this API or another replica may still be making its objects. */
const settleMs = 1_000

/** The interval for checking whether the resources of a terminating namespace are gone. */
const drainPollMs = 1_000
/** The interval for checking whether a closed namespace is empty. Resources that the API does not know may stay for ever. */
const closedPollMs = 5_000

type Listable = { list(of: { namespace: string }): Promise<{ items: readonly KubeObject[] }> }

type RepairOptions = {
  readonly db: Database
  readonly clients: NamespaceClients
  /** The kinds whose resources need the rights in a terminating or closed namespace. */
  readonly resources: readonly Listable[]
  /** Pods, which need the rights in a closed namespace too. */
  readonly pods: Listable
  readonly namespaces: ReturnType<typeof createNamespaces>
  readonly hostPortCheck: HostPortCheck
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
  const { db, namespaces, namespacePrefix, clock, log, metrics, signal } = options
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
      const owner = await readOwner(db, organizationId)
      const bindings = bindingNames.flatMap((name) => caches.roleBindings.store.get(`${namespace}/${name}`) ?? [])
      const terminating = bindings.filter(isHeldAndDeleted)
      const present = caches.namespaces.store.get(namespace)
      const isTerminating = present?.metadata.deletionTimestamp !== undefined
      if (present !== undefined && !isTerminating && isClosed(owner, present)) {
        await namespaces.repair(organizationId, present, stores)
        return closeNamespace(options, namespace, bindings)
      }
      if (terminating.length > 0) return endBindings(options, { namespace, isOwn: owner !== 'unknown' }, terminating)
      if (owner === 'unknown') return undefined
      if (present === undefined || isTerminating) {
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
  const checking = checkHostPorts(options, caches.namespaces.store, (name) => {
    const organizationId = organizationOf(namespacePrefix, name)
    if (organizationId !== undefined) controller.enqueue(organizationId)
  })
  await Promise.all([...caching, checking, controller.run(signal)])
}

/** Finds the namespaces whose level of Pod Security does not fit the policy `orrery-host-ports`, at an interval. */
const checkHostPorts = async (
  { hostPortCheck, clock, log, signal }: RepairOptions,
  namespaces: Pick<Store<KubeObject>, 'list'>,
  enqueue: (name: string) => void,
): Promise<void> => {
  for (; !signal.aborted; await sleep(clock, hostPortCheck.everyMs, signal)) {
    const labelled = namespaces.list().filter(({ metadata }) => metadata.labels?.[labels.hostPorts] === 'true')
    if (labelled.length === 0) continue
    try {
      const isInForce = await hostPortCheck.isInForce({ fresh: true })
      for (const { metadata } of labelled) {
        if ((readPolicy(metadata).hostPorts === true) !== isInForce) enqueue(metadata.name)
      }
    } catch (error) {
      log.debug({ err: error }, 'repair: the policy of host ports could not be checked')
    }
  }
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

/** The operator's role is the first that ends: as long as the API has its own, it can see whether pods are left. */
const bindingNames = ['orrery-operator-tenant', 'orrery-api-tenant']

/** Reports whether the organization of a namespace is deleted. Of a purged one only the mark is left. */
const isClosed = (owner: OrganizationState, { metadata }: KubeObject): boolean =>
  owner === 'deleted' ||
  (owner === 'unknown' &&
    readPolicy(metadata).isClosed === true &&
    metadata.labels?.[labels.managedBy] === 'orrery-api')

const isHeldAndDeleted = ({ metadata }: KubeObject): boolean =>
  metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(apiFinalizer) === true

/**
 * Deletes the RoleBindings of a closed namespace once no World, BotDeployment or pod is left in it. The organization may have
 * been purged meanwhile.
 */
const closeNamespace = async (
  { clients, resources, pods }: RepairOptions,
  namespace: string,
  bindings: readonly RoleBinding[],
): Promise<Result> => {
  if (bindings.length === 0) return undefined
  if (await isInUse([...resources, pods], namespace)) return { requeueAfterMs: closedPollMs }
  for (const binding of bindings) {
    if (binding.metadata.deletionTimestamp === undefined) await clients.roleBindings.delete(binding.metadata)
    else await removeFinalizer(clients, binding)
  }
  return undefined
}

const isInUse = async (kinds: readonly Listable[], namespace: string): Promise<boolean> => {
  for (const kind of kinds) if ((await kind.list({ namespace })).items.length > 0) return true
  return false
}

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
  if (isTerminating && (await isInUse(resources, namespace))) return { requeueAfterMs: drainPollMs }
  for (const binding of bindings) await removeFinalizer(clients, binding)
  return undefined
}

const removeFinalizer = async (
  { roleBindings }: NamespaceClients,
  { metadata: { namespace, name, uid, resourceVersion, finalizers = [] } }: RoleBinding,
): Promise<void> => {
  const left = finalizers.filter((each) => each !== apiFinalizer)
  await roleBindings.patch(withDefined({ namespace, name }), { metadata: { uid, resourceVersion, finalizers: left } })
}
