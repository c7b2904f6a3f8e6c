import { isDeepStrictEqual } from 'node:util'
import type { V1ValidatingAdmissionPolicyBindingSpec, V1ValidatingAdmissionPolicySpec } from '@kubernetes/client-node'
import type { HostPorts } from '#shared/domain/hostPorts.ts'
import type { Resource } from '#shared/kube/client.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { labels } from './group.ts'

/** The name of the admission policy, and of its binding, for the pods of namespaces with host ports. */
export const hostPortPolicy = 'orrery-host-ports'

const admission = { group: 'admissionregistration.k8s.io', version: 'v1' }
/** The admission policies of a cluster. */
export const policyResource: Resource = {
  ...admission,
  plural: 'validatingadmissionpolicies',
  kind: 'ValidatingAdmissionPolicy',
}
/** The bindings of the admission policies of a cluster. */
export const bindingResource: Resource = {
  ...admission,
  plural: 'validatingadmissionpolicybindings',
  kind: 'ValidatingAdmissionPolicyBinding',
}

/** An admission policy, as the API server returns it. */
export type Policy = KubeObject & { readonly spec?: V1ValidatingAdmissionPolicySpec }
/** A binding of an admission policy, as the API server returns it. */
export type PolicyBinding = KubeObject & { readonly spec?: V1ValidatingAdmissionPolicyBindingSpec }

/**
 * Returns why the policy `orrery-host-ports` does not check every pod of a namespace with the label, as the end of a sentence, or
 * undefined if it does. It cannot see whether the rules of the policy were changed.
 */
export const findOpenHostPorts = (
  policy: Policy | undefined,
  binding: PolicyBinding | undefined,
): string | undefined => {
  if (policy?.spec === undefined || policy.metadata.deletionTimestamp !== undefined) return 'is missing'
  if (binding?.spec === undefined || binding.metadata.deletionTimestamp !== undefined) return 'has no binding'
  const { failurePolicy, matchConstraints, paramKind, validations = [] } = policy.spec
  if (failurePolicy !== 'Fail' || validations.length === 0 || paramKind !== undefined) {
    return 'lets pods pass that it cannot check'
  }
  const { namespaceSelector, objectSelector, excludeResourceRules = [], resourceRules = [] } = matchConstraints ?? {}
  const selectsLabel = isDeepStrictEqual(namespaceSelector, { matchLabels: { [labels.hostPorts]: 'true' } })
  const isNarrow = !isEmpty(objectSelector) || excludeResourceRules.length > 0 || !resourceRules.some(matchesPods)
  if (!selectsLabel || isNarrow) return 'does not match all pods of the labelled namespaces'
  const { policyName, validationActions = [], matchResources } = binding.spec
  if (policyName !== hostPortPolicy || !validationActions.includes('Deny')) return 'is not bound with the action Deny'
  return isEmpty(matchResources) ? undefined : 'has a binding that leaves pods out'
}

type PodRule = { apiGroups?: string[]; resources?: string[]; operations?: string[]; resourceNames?: string[] }

const matchesPods = ({ apiGroups = [], resources = [], operations = [], resourceNames = [] }: PodRule): boolean =>
  apiGroups.includes('') &&
  resources.includes('pods') &&
  ['CREATE', 'UPDATE'].every((each) => operations.includes(each)) &&
  resourceNames.length === 0

/** Reports whether a selector selects everything. The API server fills in empty selectors. */
const isEmpty = (selector: object | undefined): boolean =>
  Object.entries(selector ?? {}).every(
    ([key, value]) => key === 'matchPolicy' || Object.keys(value as object).length === 0,
  )

/** Returns host ports as a list of CEL with a pair of the first and the last port for each interval. */
export const toCelIntervals = (hostPorts: HostPorts): string =>
  `[${[...hostPorts.values()]
    .flat()
    .map(({ first, last }) => `[${first}, ${last}]`)
    .join(', ')}]`
