import { isDeepStrictEqual } from 'node:util'
import type { V1RoleBinding, V1ServiceAccount } from '@kubernetes/client-node'
import type { Limits } from '#api/domain/access/limits.ts'
import { type KubeObject, type KubeObjectOf, objectKey } from '#shared/kube/objects.ts'
import type { Store } from '#shared/kube/store.ts'
import { apiFinalizer, labels, namespaceOf } from '#shared/resources/group.ts'
import { enforceLabel, toPolicyAnnotations } from '#shared/resources/namespacePolicy.ts'
import type { ScalingProfiles } from '#shared/scalingProfiles.ts'
import { type NetworkOptions, type NetworkPolicy, networkPolicies, type ProcessUsers } from './networkPolicies.ts'
import {
  type ClusterLimits,
  isEqualLimitRange,
  isEqualQuota,
  type LimitRange,
  limitRange,
  type ResourceQuota,
  resourceQuota,
} from './quotas.ts'

/** A RoleBinding (rbac/v1). */
export type RoleBinding = KubeObjectOf<V1RoleBinding>
/** A ServiceAccount (core/v1). */
export type ServiceAccount = KubeObjectOf<V1ServiceAccount>

type PolicyLimits = ClusterLimits & Pick<Limits, 'imageRegistries' | 'imagePullSecrets' | 'hostPorts'>

/** The facts that the namespace of an organization follows from: its limits that act there, and whether it is deleted. */
export type Tenancy = { readonly limits: PolicyLimits; readonly isDeleted: boolean }

/** A tenancy, and whether the policy `orrery-host-ports` checks the pods of namespaces with host ports. */
export type CheckedTenancy = Tenancy & { readonly arePodsChecked: boolean }

/** The kinds of objects that the API keeps in the namespace of each organization. */
export type Kept = {
  readonly roleBindings: RoleBinding
  readonly networkPolicies: NetworkPolicy
  readonly resourceQuotas: ResourceQuota
  readonly limitRanges: LimitRange
  readonly serviceAccounts: ServiceAccount
}

/** The settings that the objects depend on. */
export type ObjectOptions = {
  /** The prefix of the names of namespaces. */
  readonly prefix: string
  readonly network: NetworkOptions
  readonly profiles: ScalingProfiles
  /** The users of the two processes, whom the roles are bound to. */
  readonly users: ProcessUsers
}

/** The live objects of each kind. */
export type KeptStores = { readonly [kind in keyof Kept]: Pick<Store<Kept[kind]>, 'get'> }

type DesiredKept = { readonly [kind in keyof Kept]: readonly Kept[kind][] }
/** A namespace, and all objects that the API keeps in it. In a closed one it keeps none: they stay as they are. */
export type Desired = { readonly namespace: KubeObject; readonly kept: DesiredKept }

/** Returns a namespace and all objects that the API keeps in it. The namespace of a deleted organization is closed. */
export const desiredObjects = (organizationId: string, tenancy: CheckedTenancy, options: ObjectOptions): Desired => {
  const { limits, isDeleted } = tenancy
  const name = namespaceOf(options.prefix, organizationId)
  const labelled = <T extends KubeObject>(object: T): T => ({
    ...object,
    metadata: { ...object.metadata, labels: ownLabels(organizationId) },
  })
  const desired = namespace(name, organizationId, tenancy)
  if (isDeleted) return { namespace: desired, kept: nothingKept }
  return {
    namespace: desired,
    kept: {
      roleBindings: roleBindings(name, options.users).map(labelled),
      networkPolicies: networkPolicies(name, options.network, options.users).map(labelled),
      resourceQuotas: [labelled(resourceQuota(name, limits, options.profiles))],
      limitRanges: [labelled(limitRange(name, limits, options.profiles))],
      serviceAccounts: [labelled(serviceAccount(name))],
    },
  }
}

const nothingKept: DesiredKept = {
  roleBindings: [],
  networkPolicies: [],
  resourceQuotas: [],
  limitRanges: [],
  serviceAccounts: [],
}

/** Returns the labels of a namespace and of all objects that the API keeps in it. */
const ownLabels = (organizationId: string) => ({
  [labels.organization]: organizationId,
  [labels.managedBy]: 'orrery-api',
})

const bindingContent = ({ roleRef, subjects, metadata }: RoleBinding) => ({
  roleRef,
  subjects,
  isHeld: metadata.finalizers?.includes(apiFinalizer) === true,
  isDeleted: metadata.deletionTimestamp !== undefined,
})

/** Reports whether a live object is as the API makes it. */
export type IsEqual<T> = (live: T, desired: T) => boolean

/** The comparison of each kind. */
export const comparers: { readonly [kind in keyof Kept]: IsEqual<Kept[kind]> } = {
  roleBindings: (a, b) => isDeepStrictEqual(bindingContent(a), bindingContent(b)),
  networkPolicies: (a, b) => isDeepStrictEqual(a.spec, b.spec),
  resourceQuotas: isEqualQuota,
  limitRanges: isEqualLimitRange,
  serviceAccounts: (a, b) => a.automountServiceAccountToken === b.automountServiceAccountToken,
}

/** The ends of the sentences that say how the content of an object differs. */
const contentFaults: { readonly [kind in keyof Kept]: string } = {
  roleBindings: 'binds another role or user, is being deleted, or lacks its finalizer',
  networkPolicies: 'has other rules than the API applies',
  resourceQuotas: 'has other values than the limits of the organization',
  limitRanges: 'has other values than the limits of the organization',
  serviceAccounts: 'gives its pods a token',
}
const keptKinds = ['roleBindings', 'networkPolicies', 'resourceQuotas', 'limitRanges', 'serviceAccounts'] as const

/** Returns how a namespace and its objects differ from what the API makes, each with a subject and a verb. */
export const findFaults = ({ namespace, kept }: Desired, live: KubeObject, stores: KeptStores): string[] => [
  ...namespaceFaults(live, namespace),
  ...keptKinds.flatMap((kind) => kindFaults(kind, kept, stores)),
]

const kindFaults = <K extends keyof Kept>(kind: K, kept: DesiredKept, stores: KeptStores): string[] =>
  kept[kind].flatMap((desired) => {
    const title = `${desired.kind} ${desired.metadata.name}`
    const live = stores[kind].get(objectKey(desired))
    if (live === undefined) return `${title} is missing`
    const missing = findChanged(desired.metadata.labels, live.metadata.labels)
    return [
      ...missing.map((label) => `${title} lacks the label ${label} with its value`),
      ...(comparers[kind](live, desired) ? [] : [`${title} ${contentFaults[kind]}`]),
    ]
  })

/** Compares the labels and annotations that the API gives a namespace. It may have others. */
const namespaceFaults = ({ metadata: live }: KubeObject, { metadata: desired }: KubeObject): string[] => [
  ...findChanged(desired.labels, live.labels).map((key) => `label ${key} is missing or was changed`),
  ...findChanged(desired.annotations, live.annotations).map((key) => `annotation ${key} is missing or was changed`),
]

/** Returns the keys of entries that the whole lacks or has with another value. */
const findChanged = (part: Record<string, string> = {}, whole: Record<string, string> = {}): string[] =>
  Object.entries(part).flatMap(([key, value]) => (whole[key] === value ? [] : key))

/** Reports whether a change of an object concerns the fields that the API keeps, and not only its status. */
export const isRelevantChange = <K extends keyof Kept>(kind: K, before: Kept[K], after: Kept[K]): boolean =>
  !comparers[kind](before, after) || !isDeepStrictEqual(before.metadata.labels, after.metadata.labels)

/**
 * The version of the Pod Security levels: that of the oldest supported Kubernetes. With `latest`, an upgrade of the cluster could
 * refuse pods that were accepted before. The policy orrery-api-namespaces in dev/admission accepts this version.
 */
const podSecurityVersion = 'v1.30'

const namespace = (name: string, organizationId: string, tenancy: CheckedTenancy): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: {
    name,
    labels: { ...ownLabels(organizationId), ...podSecurityLabels(tenancy) },
    annotations: toPolicyAnnotations({
      limits: tenancy.limits,
      imageRegistries: tenancy.limits.imageRegistries,
      imagePullSecrets: tenancy.limits.imagePullSecrets,
      serviceAccount: serviceAccountName,
      isClosed: tenancy.isDeleted,
    }),
  },
})

/**
 * Returns the labels that limit the pods. Pod Security allows no host port, so with host ports its level is enforced by the policy
 * `orrery-host-ports`, while that is in force.
 */
const podSecurityLabels = ({ limits, isDeleted, arePodsChecked }: CheckedTenancy): Record<string, string> => {
  const enforce = (level: string) => ({
    [enforceLabel]: level,
    'pod-security.kubernetes.io/enforce-version': podSecurityVersion,
  })
  if (!limits.hostPorts || isDeleted) return enforce('restricted')
  return {
    [labels.hostPorts]: 'true',
    ...enforce(arePodsChecked ? 'privileged' : 'restricted'),
    'pod-security.kubernetes.io/audit': 'restricted',
    'pod-security.kubernetes.io/audit-version': podSecurityVersion,
    'pod-security.kubernetes.io/warn': 'restricted',
    'pod-security.kubernetes.io/warn-version': podSecurityVersion,
  }
}

/** The account of servers and bots. It has no rights, and its pods get no token. */
const serviceAccountName = 'orrery-pods'

const serviceAccount = (namespaceName: string): ServiceAccount => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name: serviceAccountName, namespace: namespaceName },
  automountServiceAccountToken: false,
})

const rbac = 'rbac.authorization.k8s.io'

/**
 * The RoleBindings of a namespace, each named after its ClusterRole. Their finalizer keeps the rights of both processes in a
 * terminating namespace until its resources are gone. Both processes need them to remove the finalizers of the resources.
 */
const roleBindings = (namespaceName: string, users: ObjectOptions['users']): RoleBinding[] =>
  (['api', 'operator'] as const).map((process) => ({
    apiVersion: `${rbac}/v1`,
    kind: 'RoleBinding',
    metadata: {
      name: `orrery-${process}-tenant`,
      namespace: namespaceName,
      finalizers: [apiFinalizer],
    },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: `orrery-${process}-tenant` },
    subjects: [{ apiGroup: rbac, kind: 'User', name: users[process] }],
  }))
