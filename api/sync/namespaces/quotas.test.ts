import { describe, expect, test } from 'vitest'
import { overrideProfiles } from '#shared/profileOverrides.ts'
import { toNumber } from '#shared/quantities.ts'
import { scalingProfiles } from '#shared/scalingProfiles.ts'
import { type ClusterLimits, isEqualLimitRange, isEqualQuota, limitRange, resourceQuota } from './quotas.ts'

const limits: ClusterLimits = {
  maxWorlds: 1_000,
  maxBotDeployments: 500,
  maxWorldCapacity: 10_000,
  maxRunningCapacity: 20_000,
  maxBotCpu: 2_000,
  maxBotMemory: 2_500 * 2 ** 30,
  maxNodePorts: 200,
  maxLoadBalancers: 20,
}
const gibibytes = (quantity: string | undefined): number => toNumber(quantity ?? '') / 2 ** 30
const hardOf = (changes: Partial<ClusterLimits> = {}, profiles = scalingProfiles) =>
  resourceQuota('ns', { ...limits, ...changes }, profiles).spec.hard

describe('the quota of an organization', () => {
  test('counts worlds and bot deployments exactly', () => {
    expect(hardOf()).toMatchObject({ 'count/worlds.orrery.dev': '1000', 'count/botdeployments.orrery.dev': '500' })
  })

  test('holds the profile that needs the most, the totals of bots, and a tenth more', () => {
    const needed = 2_000 * 2 + 2_500
    expect(gibibytes(hardOf()['limits.memory'])).toBeCloseTo(needed * 1.1, 1)
    expect(toNumber(hardOf()['limits.cpu'] ?? '')).toBeCloseTo((2_000 * 0.5 + 2_000) * 1.1)
    expect(hardOf().pods).toBe('24200')
  })

  test.each(Object.values(scalingProfiles))('leaves room for a replacement where $name fills the limit', (profile) => {
    const { capacity, memoryLimit, cpuLimit } = profile
    const hard = hardOf({ maxRunningCapacity: capacity, maxWorldCapacity: capacity })
    expect(toNumber(hard['limits.memory'] ?? '')).toBeGreaterThanOrEqual(2 * toNumber(memoryLimit))
    expect(toNumber(hard['limits.cpu'] ?? '')).toBeGreaterThanOrEqual(2 * toNumber(cpuLimit))
    expect(Number(hard.pods)).toBeGreaterThanOrEqual(capacity + 2)
  })

  test('follows the profiles of the ConfigMap', () => {
    const { value } = overrideProfiles({ Capacity10: 'memoryLimit: 8Gi' })
    expect(gibibytes(hardOf({}, value)['limits.memory'])).toBeCloseTo((2_000 * 8 + 2_500) * 1.1, 1)
  })

  test.each([
    [{}, '220', '22'],
    [{ maxNodePorts: 4, maxLoadBalancers: 1 }, '20', '2'],
    [{ maxNodePorts: 0, maxLoadBalancers: 0 }, '0', '0'],
  ])('bounds node ports and load balancers, with room for a replacement: %j', (changes, nodePorts, loadBalancers) => {
    const hard = hardOf(changes)
    expect(hard['services.nodeports']).toBe(nodePorts)
    expect(hard['services.loadbalancers']).toBe(loadBalancers)
  })

  test('with no running capacity still admits what stops', () => {
    const hard = hardOf({ maxRunningCapacity: 0, maxBotCpu: 0 })
    expect(hard).toMatchObject({ pods: '2', 'limits.cpu': '32000m' })
  })

  test('is equal however the API server writes its quantities', () => {
    const ours = resourceQuota('ns', limits, scalingProfiles)
    const written = { ...ours, spec: { hard: { ...ours.spec.hard, 'count/worlds.orrery.dev': '1k' } } }
    expect(isEqualQuota(written, ours)).toBe(true)
    expect(isEqualQuota({ ...ours, spec: { hard: { ...ours.spec.hard, pods: '1M' } } }, ours)).toBe(false)
    expect(isEqualQuota({ ...ours, spec: { hard: {} } }, ours)).toBe(false)
  })
})

describe('the limit range of an organization', () => {
  const itemOf = (changes: Partial<ClusterLimits> = {}) =>
    limitRange('ns', { ...limits, ...changes }, scalingProfiles).spec.limits[0]

  test('admits the largest allowed profile, and nothing larger', () => {
    expect(itemOf()?.max).toEqual({ cpu: '32000m', memory: '131072Mi' })
    expect(itemOf({ maxWorldCapacity: 30 })?.max).toEqual({ cpu: '1000m', memory: '4096Mi' })
  })

  test('never has a default above the maximum', () => {
    const { max, default: others } = itemOf({ maxWorldCapacity: 0 }) ?? {}
    expect(others).toEqual(max)
  })

  test('is equal however the API server writes its quantities', () => {
    const ours = limitRange('ns', limits, scalingProfiles)
    const [item = { type: '' }] = ours.spec.limits
    const written = { ...ours, spec: { limits: [{ ...item, max: { cpu: '32', memory: '128Gi' } }] } }
    expect(isEqualLimitRange(written, ours)).toBe(true)
    const opened = { ...ours, spec: { limits: [{ ...item, max: { cpu: '64', memory: '128Gi' } }] } }
    expect(isEqualLimitRange(opened, ours)).toBe(false)
  })
})
