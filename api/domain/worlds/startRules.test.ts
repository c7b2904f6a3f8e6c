import { describe, expect, test } from 'vitest'
import { defaultPorts } from '#shared/domain/ports.ts'
import { noUse } from '#shared/domain/runUse.ts'
import type { CapturedRun } from '#shared/resources/world.ts'
import { checkStart, explainStart, explainWait, startDelayMs } from './startRules.ts'

describe('the rate of the starts of a world', () => {
  test('allows a burst, refills over the minute and never exceeds the burst', () => {
    expect(startDelayMs([], 2, 0)).toBe(0)
    expect(startDelayMs([0], 2, 0)).toBe(0)
    expect(startDelayMs([0, 0], 2, 0)).toBe(30_000)
    expect(startDelayMs([0, 0], 2, 29_999)).toBe(1)
    expect(startDelayMs([0, 0], 2, 30_000)).toBe(0)
    expect(startDelayMs([0, 0, 30_000], 2, 30_000)).toBe(30_000)
    expect(startDelayMs([0, 90_000, 90_000], 2, 90_000)).toBe(30_000)
  })

  test('counts starts at the limit of a rate below one a minute', () => {
    expect(startDelayMs([0], 1, 59_999)).toBe(1)
    expect(startDelayMs([0], 1, 60_000)).toBe(0)
  })
})

describe('a start', () => {
  const limits = { imageRegistries: ['registry.example'], maxWorldCapacity: 30, hostPorts: false }
  const run = { profile: 'Capacity30', strategy: 'Default' } as const

  test('of the default image, or of an image from an allowed registry, is allowed', () => {
    expect(explainStart(run, limits)).toBeUndefined()
    expect(explainStart({ ...run, image: 'registry.example/server:1' }, limits)).toBeUndefined()
  })

  test('of an image from another registry is refused', () => {
    expect(explainStart({ ...run, image: 'other.example/server:1' }, limits)?.code).toBe('image_not_allowed')
  })

  test('of a larger profile than the organization may have is refused', () => {
    expect(explainStart({ ...run, profile: 'Capacity60' }, limits)?.code).toBe('size_not_allowed')
  })

  test('counts the capacity of its profile, not its own', () => {
    const captured: CapturedRun = {
      ...run,
      id: 'run-00000000000000000000000001',
      startedAt: '2026-01-01T00:00:00.000Z',
      mapName: '',
      capacity: 1,
      probes: true,
      args: [],
      ports: defaultPorts,
      compute: { group: 'production', region: 'Europe' },
    }
    const room = { maxRunningCapacity: 60, maxNodePorts: 0, maxLoadBalancers: 0 }
    const others = { ...noUse, capacity: 31 }
    const facts = { limits: { ...limits, ...room }, others, startsPerMinute: 10, startDelayMs: 0 }
    expect(() => checkStart(captured, facts, { kind: 'platform' })).toThrow('a total capacity of 61')
    expect(explainWait(captured, facts)?.message).toContain('a total capacity of 61')
  })
})
