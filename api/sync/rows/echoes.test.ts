import { describe, expect, test } from 'vitest'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { createEchoes, echoOf } from './echoes.ts'

const desired = {
  apiVersion: 'orrery.dev/v1alpha1',
  kind: 'World',
  metadata: { namespace: 'orrery-org', name: 'wld' },
  spec: { state: 'Stopped', revision: 1 },
}
const applied = { ...desired, metadata: { ...desired.metadata, uid: 'u1', resourceVersion: '7' } }
const at = (resourceVersion: string, uid = 'u1') => ({
  ...applied,
  metadata: { ...applied.metadata, uid, resourceVersion },
})

const clock = createFakeClock()
const name = { kind: 'world', key: 'orrery-org/wld' } as const

describe('the record of pushes', () => {
  test('has the version that the last push wrote, and no other version, uid, name or kind', async () => {
    const echoes = createEchoes(clock)
    expect(await echoes.has(name, applied)).toBe(false)
    await echoes.record(name, async () => ({ echo: applied }))
    expect(await echoes.has(name, applied)).toBe(true)
    expect(await echoes.has(name, at('8'))).toBe(false)
    expect(await echoes.has(name, at('7', 'u2'))).toBe(false)
    expect(await echoes.has({ ...name, key: 'orrery-org/other' }, applied)).toBe(false)
    expect(await echoes.has({ ...name, kind: 'bot' }, applied)).toBe(false)
    await echoes.record(name, async () => ({ echo: at('9') }))
    expect([await echoes.has(name, applied), await echoes.has(name, at('9'))]).toEqual([false, true])
  })

  test('has no version after a push that recorded nothing in the row', async () => {
    const echoes = createEchoes(clock)
    await echoes.record(name, async () => ({}))
    expect(await echoes.has(name, applied)).toBe(false)
  })

  test('has no version until a started pull has completed, nor after it was cleared', async () => {
    const echoes = createEchoes(clock)
    echoes.pulled(name, false)
    await echoes.record(name, async () => ({ echo: applied }))
    expect(await echoes.has(name, applied)).toBe(false)
    echoes.pulled(name, true)
    expect(await echoes.has(name, applied)).toBe(true)
    echoes.clear()
    expect(await echoes.has(name, applied)).toBe(false)
  })

  test('waits for a push in progress, also for one that fails', async () => {
    const echoes = createEchoes(clock)
    const answer = Promise.withResolvers<{ echo: typeof applied }>()
    const pushing = echoes.record(name, () => answer.promise)
    const isEcho = echoes.has(name, applied)
    answer.resolve({ echo: applied })
    expect(await isEcho).toBe(true)
    await pushing
    const failing = Promise.withResolvers<{ echo: typeof applied }>()
    const failed = echoes.record(name, () => failing.promise).catch((error: Error) => error.message)
    const isStillEcho = echoes.has(name, at('8'))
    failing.reject(new Error('refused'))
    expect([await failed, await isStillEcho]).toEqual(['refused', false])
  })

  test('waits at most 100 ms, and not for a deletion', async () => {
    const echoes = createEchoes(clock)
    void echoes.record(name, () => new Promise<never>(() => undefined))
    const deletionTimestamp = '2026-01-01T00:00:00Z'
    expect(await echoes.has(name, { ...applied, metadata: { ...applied.metadata, deletionTimestamp } })).toBe(false)
    const isEcho = echoes.has(name, applied)
    clock.advance(100)
    expect(await isEcho).toBe(false)
  })

  test('keeps at most 10,000 results, the newest', async () => {
    const echoes = createEchoes(clock)
    const named = (index: number) => ({ ...name, key: `orrery-org/w${index}` })
    for (let index = 0; index <= 10_000; index += 1) await echoes.record(named(index), async () => ({ echo: applied }))
    expect(await Promise.all([0, 1, 10_000].map((index) => echoes.has(named(index), applied)))).toEqual([
      false,
      true,
      true,
    ])
  })
})

test('the result of an apply is an echo', () => {
  expect(echoOf(applied, desired.spec, true)).toBe(applied)
})

test('the result of an apply whose status pull must read is not an echo', () => {
  expect(echoOf(applied, desired.spec, false)).toBeUndefined()
})

test.each([
  ['a field of another manager', { ...applied, spec: { ...applied.spec, displayName: 'Mine' } }],
  ['a deletion', { ...applied, metadata: { ...applied.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }],
])('the result of an apply with %s is not an echo', (_, result) => {
  expect(echoOf(result, desired.spec, true)).toBeUndefined()
})
