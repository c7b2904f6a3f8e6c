import { expect, test } from 'vitest'
import { readPolicy, readRecordedLimits, toPolicyAnnotations } from './namespacePolicy.ts'

const policy = {
  limits: {
    maxWorldCapacity: 1,
    maxRunningCapacity: 2,
    maxBotCpu: 3,
    maxBotMemory: 4,
    maxNodePorts: 5,
    maxLoadBalancers: 6,
  },
  imageRegistries: ['registry.example', 'ghcr.io/acme'],
  imagePullSecrets: [],
  serviceAccount: 'orrery-pods',
}

test('a policy and the recorded limits are read from the annotations as they were written', () => {
  const { limits, serviceAccount, ...lists } = policy
  const open = toPolicyAnnotations({ ...policy, isClosed: false })
  expect(readPolicy({ annotations: open })).toEqual({ imagePullSecrets: [], serviceAccount })
  expect(readRecordedLimits({ annotations: open })).toEqual({ ...limits, ...lists })
  const closed = toPolicyAnnotations({ ...policy, isClosed: true })
  expect(readPolicy({ annotations: closed })).toEqual({ imagePullSecrets: [], serviceAccount, isClosed: true })
})

test('recorded limits are read without one that the record lacks', () => {
  const limits = { maxWorldCapacity: 1, maxRunningCapacity: 2 }
  expect(readRecordedLimits({ annotations: { 'orrery.dev/limits': JSON.stringify(limits) } })).toEqual(limits)
})

test('a namespace without annotations has no policy, and an empty list is one', () => {
  expect(readPolicy({})).toEqual({})
  expect(readRecordedLimits({ annotations: { 'orrery.dev/image-registries': '' } })).toEqual({ imageRegistries: [] })
})

test('the label of the organization makes a namespace that of a tenant', () => {
  const labels = { 'orrery.dev/organization': 'org-a' }
  expect(readPolicy({ labels })).toEqual({ organization: 'org-a' })
})

test.each(['', '{', '[]', '{"maxWorldCapacity":"many"}', 'null'])('limits such as %j are left out', (text) => {
  expect(readRecordedLimits({ annotations: { 'orrery.dev/limits': text } })).toEqual({})
})

test.each([
  ['true', 'privileged', true],
  ['true', undefined, true],
  ['true', 'restricted', undefined],
  ['true', 'baseline', undefined],
  ['false', 'privileged', undefined],
  [undefined, 'privileged', undefined],
])('host ports with the label %s and the level %s of Pod Security: %s', (label, level, expected) => {
  const labels = {
    ...(label && { 'orrery.dev/host-ports': label }),
    ...(level && { 'pod-security.kubernetes.io/enforce': level }),
  }
  expect(readPolicy({ labels }).hostPorts).toBe(expected)
})
