import { readObject } from '#api/sync/clusters/deletionCause.ts'
import { type Clock, sleep } from '#shared/clock.ts'
import { type Client, createClient } from '#shared/kube/client.ts'
import { isNotFound, KubeError } from '#shared/kube/errors.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import type { Transport } from '#shared/kube/transport.ts'
import { fieldManagers, namespaceOf } from '#shared/resources/group.ts'
import { bindingResource, policyResource } from '#shared/resources/hostPortPolicy.ts'
import type { HostPortCheck, PolicyClients } from './hostPortCheck.ts'
import {
  comparers,
  type Desired,
  desiredObjects,
  findFaults,
  type IsEqual,
  type Kept,
  type KeptStores,
  type ObjectOptions,
  type RoleBinding,
  type Tenancy,
} from './namespaceObjects.ts'
import type { ResourceQuota } from './quotas.ts'

/** A review that reports whether a user has a right (authorization/v1). */
export type AccessReview = KubeObject & { spec: object; status?: { allowed: boolean } }

type KeptClients = { readonly [kind in keyof Kept]: Client<Kept[kind]> }
/** The clients that namespaces are made with. */
export type NamespaceClients = KeptClients &
  PolicyClients & {
    readonly namespaces: Client<KubeObject>
    readonly accessReviews: Client<AccessReview>
    readonly selfAccessReviews: Client<AccessReview>
  }

/** Creates the clients of a cluster. */
export const createNamespaceClients = (transport: Transport): NamespaceClients => {
  const of = <T extends KubeObject>(group: string, plural: string, kind: string): Client<T> =>
    createClient<T>(transport, { group, version: 'v1', plural, kind })
  return {
    namespaces: of('', 'namespaces', 'Namespace'),
    resourceQuotas: of('', 'resourcequotas', 'ResourceQuota'),
    limitRanges: of('', 'limitranges', 'LimitRange'),
    serviceAccounts: of('', 'serviceaccounts', 'ServiceAccount'),
    networkPolicies: of('networking.k8s.io', 'networkpolicies', 'NetworkPolicy'),
    roleBindings: of('rbac.authorization.k8s.io', 'rolebindings', 'RoleBinding'),
    accessReviews: of('authorization.k8s.io', 'subjectaccessreviews', 'SubjectAccessReview'),
    selfAccessReviews: of('authorization.k8s.io', 'selfsubjectaccessreviews', 'SelfSubjectAccessReview'),
    policies: createClient(transport, policyResource),
    policyBindings: createClient(transport, bindingResource),
  }
}

/** The settings of the namespaces. */
export type NamespaceOptions = ObjectOptions & {
  /** Returns undefined if the organization is not in the database. */
  readonly readTenancy: (organizationId: string) => Promise<Tenancy | undefined>
  readonly hostPortCheck: HostPortCheck
  readonly clock: Clock
}

/** The time to wait for a new RoleBinding to take effect before the push is postponed. It usually takes milliseconds. */
const rightsTimeoutMs = 4_000
const firstPollMs = 20
const as = { fieldManager: fieldManagers.api, force: true }

/** Creates the namespaces of organizations with the objects that the API keeps there, and repairs them. */
export const createNamespaces = (clients: NamespaceClients, options: NamespaceOptions) => {
  const made = new Map<string, Promise<void>>()
  const recounts = new Map<string, Promise<void>>()
  const inProgress = new Set<string>()
  const desired = async (organizationId: string): Promise<Desired | undefined> => {
    const tenancy = await options.readTenancy(organizationId)
    if (tenancy === undefined) return undefined
    const arePodsChecked = tenancy.limits.hostPorts && (await options.hostPortCheck.isInForce())
    return desiredObjects(organizationId, { ...tenancy, arePodsChecked }, options)
  }
  const make = async (organizationId: string): Promise<void> => {
    const objects = await desired(organizationId)
    if (objects !== undefined) await applyAll(objects)
  }
  const applyAll = async (objects: Desired): Promise<void> => {
    const { metadata } = await clients.namespaces.apply(objects.namespace, as)
    if (metadata.deletionTimestamp !== undefined) throw terminatingError(metadata.name)
    if (objects.kept.roleBindings.length === 0) return
    for (const binding of objects.kept.roleBindings) await applyBinding(clients, binding)
    await waitForRights(clients, objects.namespace.metadata.name, options)
    for (const policy of objects.kept.networkPolicies) {
      await applyExactly(clients.networkPolicies, policy, comparers.networkPolicies)
    }
    for (const quota of objects.kept.resourceQuotas) {
      await applyExactly(clients.resourceQuotas, quota, comparers.resourceQuotas)
    }
    for (const range of objects.kept.limitRanges) await applyExactly(clients.limitRanges, range, comparers.limitRanges)
    for (const account of objects.kept.serviceAccounts) await clients.serviceAccounts.apply(account, as)
  }
  const recount = async (organizationId: string): Promise<void> => {
    const objects = await desired(organizationId)
    for (const quota of objects?.kept.resourceQuotas ?? []) await recountQuota(clients.resourceQuotas, quota)
  }
  return {
    /** Makes the namespace once in a process, and waits until both processes have their rights in it. */
    ensure: (organizationId: string): Promise<void> => {
      const known = made.get(organizationId)
      if (known !== undefined) return known
      inProgress.add(organizationId)
      const making = make(organizationId).finally(() => inProgress.delete(organizationId))
      made.set(organizationId, making)
      making.catch(() => made.delete(organizationId))
      return making
    },
    /** Reports whether `ensure` is still making the objects of a namespace. */
    isInProgress: (organizationId: string): boolean => inProgress.has(organizationId),
    /** Applies the limits that an organization has now, or the mark that it is deleted, if its namespace exists. */
    update: async (organizationId: string): Promise<void> => {
      // A namespace that was closed may have lost its roles.
      made.delete(organizationId)
      try {
        await clients.namespaces.get({ name: namespaceOf(options.prefix, organizationId) })
        await make(organizationId)
      } catch (error) {
        // The next push recreates it, with the limits.
        if (!isNotFound(error) && !isTerminatingNamespace(error)) throw error
      }
    },
    /** Throws while the namespace of an organization is terminating, since its resources may not be gone. */
    refuseTerminating: async (organizationId: string): Promise<void> => {
      const namespace = await readObject(clients.namespaces, { name: namespaceOf(options.prefix, organizationId) })
      if (namespace?.metadata.deletionTimestamp !== undefined) throw terminatingError(namespace.metadata.name)
    },
    /** Makes the cluster count the use of the organization's quota. Concurrent calls share one recount. */
    recount: (organizationId: string): Promise<void> => {
      const running = recounts.get(organizationId)
      if (running !== undefined) return running
      const counting = recount(organizationId).finally(() => recounts.delete(organizationId))
      recounts.set(organizationId, counting)
      return counting
    },
    /** Restores changed or missing objects of a namespace. Returns false if none were. */
    repair: async (organizationId: string, live: KubeObject, stores: KeptStores): Promise<boolean> => {
      const objects = await desired(organizationId)
      if (objects === undefined || findFaults(objects, live, stores).length === 0) return false
      await applyAll(objects)
      return true
    },
    /** Forgets a namespace that is gone, so that the next push recreates it. */
    forget: (organizationId: string): void => {
      made.delete(organizationId)
    },
  }
}

/** The reason of a `KubeError` that says that a namespace is terminating, which the API server uses too. */
const terminatingReason = 'NamespaceTerminating'

const terminatingError = (name: string): KubeError =>
  new KubeError({
    message: `The namespace ${name} is terminating. The API recreates it and its resources when it is gone.`,
    status: 403,
    reason: terminatingReason,
  })

/** Reports whether a write failed because its namespace is terminating. */
export const isTerminatingNamespace = (error: unknown): boolean =>
  error instanceof KubeError &&
  (error.reason === terminatingReason ||
    error.details?.causes?.some(({ reason }) => reason === terminatingReason) === true)

/** Applies a RoleBinding. One with another role is replaced, since its roleRef cannot be changed. */
const applyBinding = async ({ roleBindings: client }: NamespaceClients, binding: RoleBinding): Promise<void> => {
  try {
    await client.apply(binding, as)
  } catch (error) {
    const isOtherRole = error instanceof KubeError && error.status === 422 && error.message.includes('roleRef')
    if (!isOtherRole) throw error
    await client.delete(binding.metadata)
    await client.apply(binding, as)
  }
}

/** Applies an object. Fields that others added, which an apply leaves alone, are removed by replacing the spec. */
const applyExactly = async <T extends KubeObject & { readonly spec: object }>(
  client: Client<T>,
  object: T,
  isEqual: IsEqual<T>,
): Promise<void> => {
  const live = await client.apply(object, as)
  if (isEqual(live, object)) return
  await client.patch(object.metadata, [{ op: 'replace', path: '/spec', value: object.spec }])
}

/** Waits until the API may write policies and the operator may create pods; throws after the time. */
const waitForRights = async (clients: NamespaceClients, name: string, options: NamespaceOptions): Promise<void> => {
  const { clock, users } = options
  const policies = { namespace: name, verb: 'patch', group: 'networking.k8s.io', resource: 'networkpolicies' }
  const pods = { namespace: name, verb: 'create', group: '', resource: 'pods' }
  const deadlineMs = clock.monotonic() + rightsTimeoutMs
  for (let delayMs = firstPollMs; ; delayMs *= 2) {
    const hasRights =
      (await isAllowed(clients.selfAccessReviews, { resourceAttributes: policies })) &&
      (await isAllowed(clients.accessReviews, { user: users.operator, resourceAttributes: pods }))
    if (hasRights) return
    if (clock.monotonic() + delayMs > deadlineMs) {
      throw new Error(
        `The RoleBindings in namespace ${name} have not taken effect yet. ` +
          'Check the RoleBindings orrery-api-tenant and orrery-operator-tenant there.',
      )
    }
    await sleep(clock, delayMs)
  }
}

const isAllowed = async (reviews: Client<AccessReview>, spec: object): Promise<boolean> => {
  const { group, version, kind } = reviews.resource
  const { status } = await reviews.create({ apiVersion: `${group}/${version}`, kind, metadata: { name: '' }, spec })
  return status?.allowed === true
}

/**
 * Makes the cluster count the use of a quota now, by a change of its limits that is undone at once. The quota controller
 * discovers a new definition within 30 s, but then counts an existing quota only after a change of its limits, or every
 * 5 minutes. Until then it refuses every resource of that definition.
 */
const recountQuota = async (client: Client<ResourceQuota>, { metadata, spec }: ResourceQuota): Promise<void> => {
  const pods = Number(spec.hard.pods)
  for (const limit of [pods + 1, pods]) {
    const patch = { spec: { hard: { pods: String(limit) } } }
    await client.patch(metadata, patch, { fieldManager: fieldManagers.api })
  }
}
