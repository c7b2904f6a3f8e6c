import { describe, expect, test } from 'vitest'
import { startMs } from '#operator/testing/fixtures.ts'
import { noUse, type RunUse } from '#shared/domain/runUse.ts'
import type { NamespacePolicy, StartLimits } from '#shared/resources/namespacePolicy.ts'
import {
  active,
  aPod,
  applyStatus,
  aWorld,
  captured,
  conditionOf,
  outOfMemory,
  planFor,
  running,
  settings,
  verbs,
} from './fixtures.ts'

const limits: StartLimits = {
  maxWorldCapacity: 100,
  maxRunningCapacity: 100,
  maxNodePorts: 4,
  maxLoadBalancers: 1,
}
const image = 'ghcr.io/acme/server:1'
const planWithPolicy = (policy: NamespacePolicy, spec: object = {}, others: Partial<RunUse> = {}) =>
  planFor(aWorld({ ...running, ...spec }), undefined, startMs, '', { policy, others: { ...noUse, ...others } })
const withStrategy = (strategy: string) => ({ networking: { strategy } })

describe('a server is not created', () => {
  test.each<[string, NamespacePolicy, object, string]>([
    [
      'from a registry that is not allowed',
      { imageRegistries: ['registry.example'] },
      { runtime: { image } },
      'ImageNotAllowed',
    ],
    [
      'from an address, whatever is allowed',
      { imageRegistries: ['*'] },
      { runtime: { image: '10.0.0.1:80/a' } },
      'ImageNotAllowed',
    ],
    ['from an address without a policy', {}, { runtime: { image: 'localhost:5000/a' } }, 'ImageNotAllowed'],
    [
      'above maxWorldCapacity',
      { limits: { ...limits, maxWorldCapacity: 50 } },
      { scaling: { profile: 'Capacity60' } },
      'SizeNotAllowed',
    ],
  ])('%s', (_, policy, spec, reason) => {
    const planned = planWithPolicy(policy, spec)
    expect(verbs(planned)).toEqual([])
    expect(planned.status.phase).toBe('Starting')
    expect(conditionOf(planned.status, 'Degraded')).toBe(`True/${reason}`)
    expect(planned.status.message).not.toContain('10.0.0.1')
    expect(planned.status.run?.restarts).toBe(0)
    expect(planned.requeueAfterMs).toBe(15_000)
  })

  test('and neither is its service', () => {
    const spec = { runtime: { image: '10.0.0.1/a' }, networking: { strategy: 'LoadBalancer' } }
    expect(verbs(planWithPolicy({}, spec))).toEqual([])
  })

  test('and its run ends after the start deadline with the reason', () => {
    const spec = { ...running, runtime: { image: '10.0.0.1/a' } }
    const world = applyStatus(aWorld(spec), planFor(aWorld(spec)))
    const { status } = planFor(world, undefined, startMs + settings.startDeadlineMs)
    expect(status).toMatchObject({ phase: 'Error', run: { failure: { reason: 'ImageNotAllowed' } } })
  })
})

describe('a server is created', () => {
  test.each<[string, NamespacePolicy, object, Partial<RunUse>]>([
    ['from an allowed registry', { imageRegistries: ['ghcr.io/acme'] }, { runtime: { image } }, {}],
    ['with the default image, whatever is allowed', { imageRegistries: [] }, {}, {}],
    ['within all limits', { limits }, { scaling: { profile: 'Capacity60' } }, { capacity: 40 }],
    ['without a node port, when maxNodePorts is reached', { limits }, withStrategy('ClusterIP'), { nodePorts: 4 }],
    ['with a node port below a policy without that limit', {}, withStrategy('NodePort'), { nodePorts: 1_000 }],
  ])('%s', (_, policy, spec, others) => {
    expect(verbs(planWithPolicy(policy, spec, others))).toContain('createPod')
  })

  test('again after a failure, also above a limit that was lowered since', () => {
    const lost = applyStatus(active(), planFor(active(), aPod({ status: outOfMemory })))
    const policy = { limits: { ...limits, maxRunningCapacity: 0, maxWorldCapacity: 0 } }
    expect(verbs(planFor(lost, undefined, startMs + 3_600_000, '', { policy }))).toEqual(['createPod'])
  })

  test('once the policy allows it', () => {
    const spec = { ...running, runtime: { image } }
    const policy = { imageRegistries: ['registry.example'] }
    const refused = applyStatus(aWorld(spec), planFor(aWorld(spec), undefined, startMs, '', { policy }))
    expect(verbs(planFor(refused))).toEqual(['createPod'])
    expect(captured().status?.phase).toBe('Starting')
  })
})
