import { expect, test } from 'vitest'
import { parseHostPorts } from '#shared/domain/hostPorts.ts'
import { findOpenHostPorts, type Policy, type PolicyBinding, toCelIntervals } from './hostPortPolicy.ts'

const metadata = { name: 'orrery-host-ports' }
const rule = { apiGroups: [''], apiVersions: ['*'], resources: ['pods'], operations: ['CREATE', 'UPDATE'], scope: '*' }
const constraints = {
  matchPolicy: 'Equivalent',
  namespaceSelector: { matchLabels: { 'orrery.dev/host-ports': 'true' } },
  objectSelector: {},
  resourceRules: [rule],
}
const aPolicy = (spec: object = {}): Policy => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicy',
  metadata,
  spec: { failurePolicy: 'Fail', matchConstraints: constraints, validations: [{ expression: 'true' }], ...spec },
})
const aBinding = (spec: object = {}): PolicyBinding => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicyBinding',
  metadata,
  spec: { policyName: 'orrery-host-ports', validationActions: ['Deny'], ...spec },
})
const matching = (change: object) => aPolicy({ matchConstraints: { ...constraints, ...change } })
const isTerminating = { metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }

test('the policy with its binding is in force, also with the defaults of the API server', () => {
  expect(findOpenHostPorts(aPolicy(), aBinding())).toBeUndefined()
  const matchResources = { matchPolicy: 'Equivalent', namespaceSelector: {}, objectSelector: {} }
  expect(findOpenHostPorts(aPolicy(), aBinding({ matchResources }))).toBeUndefined()
})

test.each<[string, Policy | undefined, PolicyBinding | undefined, string]>([
  ['no policy', undefined, aBinding(), 'is missing'],
  ['a terminating policy', { ...aPolicy(), ...isTerminating }, aBinding(), 'is missing'],
  ['no binding', aPolicy(), undefined, 'has no binding'],
  ['a terminating binding', aPolicy(), { ...aBinding(), ...isTerminating }, 'has no binding'],
  ['a policy that fails open', aPolicy({ failurePolicy: 'Ignore' }), aBinding(), 'lets pods pass'],
  ['a policy without rules', aPolicy({ validations: [] }), aBinding(), 'lets pods pass'],
  ['another label', matching({ namespaceSelector: { matchLabels: { a: 'true' } } }), aBinding(), 'does not match'],
  ['some pods', matching({ objectSelector: { matchLabels: { a: 'b' } } }), aBinding(), 'does not match'],
  ['no creations', matching({ resourceRules: [{ ...rule, operations: ['UPDATE'] }] }), aBinding(), 'does not match'],
  ['pods of a name', matching({ resourceRules: [{ ...rule, resourceNames: ['a'] }] }), aBinding(), 'does not match'],
  ['an exception', matching({ excludeResourceRules: [rule] }), aBinding(), 'does not match'],
  ['a binding of another policy', aPolicy(), aBinding({ policyName: 'other' }), 'is not bound'],
  ['a binding that only warns', aPolicy(), aBinding({ validationActions: ['Warn'] }), 'is not bound'],
  [
    'a binding of some namespaces',
    aPolicy(),
    aBinding({ matchResources: { namespaceSelector: { matchLabels: { a: 'b' } } } }),
    'leaves pods out',
  ],
])('%s leaves host ports open', (_, policy, binding, problem) => {
  expect(findOpenHostPorts(policy, binding)).toContain(problem)
})

test('host ports are pairs in CEL, in the order of the variable', () => {
  const { value } = parseHostPorts('default=7000-8000,static=27015,voice=9000-9100,static=27020-27030')
  expect(value && toCelIntervals(value)).toBe('[[7000, 8000], [27015, 27015], [27020, 27030], [9000, 9100]]')
})
