import { isDeepStrictEqual } from 'node:util'
import { type Clock, sleep } from '#shared/clock.ts'
import type { Client } from '#shared/kube/client.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { fieldManagers, labels, namespaceOf } from '#shared/resources/group.ts'
import { type NetworkOptions, type NetworkPolicy, networkPolicies } from './networkPolicies.ts'

/** A RoleBinding (rbac/v1). */
export type RoleBinding = KubeObject & { roleRef: object; subjects?: object[] }
/** An object that the API repairs. */
export type NetworkPolicyOrBinding = RoleBinding | NetworkPolicy
/** The answer to the question whether a user has a right (authorization/v1). */
export type AccessReview = KubeObject & { spec: object; status?: { allowed: boolean } }

export type NamespaceClients = {
  readonly namespaces: Client<KubeObject>
  readonly networkPolicies: Client<NetworkPolicy>
  readonly roleBindings: Client<RoleBinding>
  readonly accessReviews: Client<AccessReview>
  readonly selfAccessReviews: Client<AccessReview>
}

export type NamespaceOptions = {
  readonly prefix: string
  readonly network: NetworkOptions
  /** The users of the two processes, whom the roles are bound to. */
  readonly users: { readonly api: string; readonly operator: string }
  readonly clock: Clock
}

/** The time to wait for a new RoleBinding to take effect before the push is postponed. It usually takes milliseconds. */
const rightsTimeoutMs = 4_000
const firstPollMs = 20
const as = { fieldManager: fieldManagers.api, force: true }

/** Makes the namespaces of organizations with their RoleBindings and NetworkPolicies, and repairs them. */
export const createNamespaces = (clients: NamespaceClients, options: NamespaceOptions) => {
  const made = new Map<string, Promise<void>>()
  const make = async (organizationId: string): Promise<void> => {
    const name = namespaceOf(options.prefix, organizationId)
    await clients.namespaces.apply(namespace(name, organizationId), as)
    await repair(name)
  }
  const repair = async (name: string): Promise<void> => {
    for (const binding of roleBindings(name, options.users)) await clients.roleBindings.apply(binding, as)
    await waitForRights(clients, name, options)
    for (const policy of networkPolicies(name, options.network)) await applyPolicy(clients, policy)
  }
  return {
    /** Makes the namespace once in a process, and waits until both processes have their rights in it. */
    ensure: (organizationId: string): Promise<void> => {
      const known = made.get(organizationId)
      if (known !== undefined) return known
      const making = make(organizationId)
      made.set(organizationId, making)
      making.catch(() => made.delete(organizationId))
      return making
    },
    /** Puts the bindings and policies of a namespace back as they should be. */
    repair,
    /** Reports whether a live binding or policy is as the API makes it; one of an unknown name is not the API's. */
    isIntact: (live: NetworkPolicyOrBinding): boolean => {
      const { namespace: name = '', name: own } = live.metadata
      const all = [...roleBindings(name, options.users), ...networkPolicies(name, options.network)]
      const wanted = all.find(({ kind, metadata }) => kind === live.kind && metadata.name === own)
      return wanted === undefined || isDeepStrictEqual(contentOf(live), contentOf(wanted))
    },
    /** Forgets a namespace that is gone, so that the next push makes it again. */
    forget: (organizationId: string): void => {
      made.delete(organizationId)
    },
  }
}

const contentOf = (object: NetworkPolicyOrBinding): unknown =>
  'spec' in object ? object.spec : { roleRef: object.roleRef, subjects: object.subjects }

/** Applies a policy. Fields that others added, which an apply leaves alone, are removed by replacing the spec. */
const applyPolicy = async (clients: NamespaceClients, policy: NetworkPolicy): Promise<void> => {
  const live = await clients.networkPolicies.apply(policy, as)
  if (isDeepStrictEqual(live.spec, policy.spec)) return
  await clients.networkPolicies.patch(policy.metadata, [{ op: 'replace', path: '/spec', value: policy.spec }])
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
      throw new Error(`The roles in namespace ${name} do not act yet. Check the RoleBindings that the API makes there.`)
    }
    await sleep(clock, delayMs)
  }
}

const isAllowed = async (reviews: Client<AccessReview>, spec: object): Promise<boolean> => {
  const { group, version, kind } = reviews.resource
  const { status } = await reviews.create({ apiVersion: `${group}/${version}`, kind, metadata: { name: '' }, spec })
  return status?.allowed === true
}

const namespace = (name: string, organizationId: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: {
    name,
    labels: {
      [labels.organization]: organizationId,
      [labels.managedBy]: 'orrery-api',
      'pod-security.kubernetes.io/enforce': 'restricted',
      'pod-security.kubernetes.io/enforce-version': 'latest',
    },
  },
})

const rbac = 'rbac.authorization.k8s.io'

/** The RoleBindings of a namespace, each named after its ClusterRole. */
const roleBindings = (namespaceName: string, users: NamespaceOptions['users']): RoleBinding[] =>
  (['api', 'operator'] as const).map((process) => ({
    apiVersion: `${rbac}/v1`,
    kind: 'RoleBinding',
    metadata: {
      name: `orrery-${process}-tenant`,
      namespace: namespaceName,
      labels: { [labels.managedBy]: 'orrery-api' },
    },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: `orrery-${process}-tenant` },
    subjects: [{ apiGroup: rbac, kind: 'User', name: users[process] }],
  }))
