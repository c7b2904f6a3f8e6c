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
  const room = { maxRunningCapacity: 60, maxNodePorts: 0, maxLoadBalancers: 0 }
  const limits = { imageRegistries: ['registry.example'], maxWorldCapacity: 30, hostPorts: false, ...room }
  const facts = { limits, offersRoutes: false }
  const run = { profile: 'Capacity30', strategy: 'Default', probes: true } as const

  test('of the default image, or of an image from an allowed registry, is allowed', () => {
    expect(explainStart(run, facts)).toBeUndefined()
    expect(explainStart({ ...run, image: 'registry.example/server:1' }, facts)).toBeUndefined()
  })

  test('of an image from another registry is refused', () => {
    expect(explainStart({ ...run, image: 'other.example/server:1' }, facts)?.code).toBe('image_not_allowed')
  })

  test('with idleStopMinutes is refused if nothing says the players of its server', () => {
    const idle = { ...run, idleStopMinutes: 15 }
    expect(explainStart(idle, facts)).toBeUndefined()
    expect(explainStart({ ...run, probes: false }, facts)).toBeUndefined()
    const query = { protocol: 'A2S', timeoutSeconds: 2 } as const
    expect(explainStart({ ...idle, probes: false, query }, facts)).toBeUndefined()
    expect(explainStart({ ...idle, probes: false }, facts)?.code).toBe('sleep_unsupported')
  })

  test('of a larger profile than the organization may have is refused', () => {
    expect(explainStart({ ...run, profile: 'Capacity60' }, facts)?.code).toBe('size_not_allowed')
  })

  test('with the strategy Route is refused where the platform has no Gateway', () => {
    const route = { ...run, strategy: 'Route' } as const
    const refusal = explainStart(route, facts)
    expect([refusal?.code, refusal?.message]).toEqual(['conflict', expect.stringContaining('needs a Gateway')])
    expect(explainStart(route, { ...facts, offersRoutes: true })).toBeUndefined()
  })

  test('counts the capacity of its profile, not its own', () => {
    const captured: CapturedRun = {
      ...run,
      id: 'run-00000000000000000000000001',
      startedAt: '2026-01-01T00:00:00.000Z',
      mapName: '',
      capacity: 1,
      args: [],
      ports: defaultPorts,
      compute: { group: 'production', region: 'Europe' },
    }
    const full = { ...facts, others: { ...noUse, capacity: 31 }, startsPerMinute: 10, startDelayMs: 0 }
    expect(() => checkStart(captured, full, { kind: 'platform' })).toThrow('a total capacity of 61')
    expect(explainWait(captured, full)?.message).toContain('a total capacity of 61')
  })
})
