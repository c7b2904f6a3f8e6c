import { expect, test } from 'vitest'
import { readPolicy, toPolicyAnnotations } from './namespacePolicy.ts'

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

test('a policy is read from its annotations as it was written', () => {
  expect(readPolicy({ annotations: toPolicyAnnotations({ ...policy, isClosed: false }) })).toEqual(policy)
  const closed = { ...policy, isClosed: true }
  expect(readPolicy({ annotations: toPolicyAnnotations(closed) })).toEqual(closed)
})

test('limits that an older API wrote have no maximum of node ports, load balancers and bots', () => {
  const limits = { maxWorldCapacity: 1, maxRunningCapacity: 2 }
  const written = { ...limits, maxBotCpuMillicores: 3, maxBotMemoryBytes: 4 }
  expect(readPolicy({ annotations: { 'orrery.dev/limits': JSON.stringify(written) } })).toEqual({ limits })
})

test('a namespace without annotations has no policy, and an empty list allows nothing', () => {
  expect(readPolicy({})).toEqual({})
  expect(readPolicy({ annotations: { 'orrery.dev/image-registries': '' } })).toEqual({ imageRegistries: [] })
})

test.each(['', '{', '[]', '{"maxWorldCapacity":"many"}', 'null'])('limits such as %j are invalid', (text) => {
  expect(readPolicy({ annotations: { 'orrery.dev/limits': text } })).toEqual({ isInvalid: true })
})
