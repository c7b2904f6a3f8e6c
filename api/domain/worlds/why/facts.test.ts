import { describe, expect, test } from 'vitest'
import { Problem } from '#api/platform/http/problem.ts'
import { scalingProfiles } from '#shared/scalingProfiles.ts'
import { findLargerProfile, unlessRefused } from './facts.ts'

describe('the larger profile', () => {
  const allowed = { limits: { maxWorldCapacity: 10_000 }, claims: ['largeWorlds'] }
  const of = (run: 'Capacity30' | 'Capacity1000' | 'Capacity10000', given = {}, profiles = scalingProfiles) =>
    findLargerProfile(profiles, { run, world: run }, { ...allowed, ...given })

  test('has more memory, not only more capacity', () => {
    expect(of('Capacity30')).toMatchObject({ name: 'Capacity100', memoryLimit: '6Gi', isChosen: false })
  })

  test('is the one that the world has by now', () => {
    const found = findLargerProfile(scalingProfiles, { run: 'Capacity30', world: 'Capacity250' }, allowed)
    expect(found).toMatchObject({ name: 'Capacity250', isChosen: true })
  })

  test('is one that the caller may choose', () => {
    expect(of('Capacity1000')).toMatchObject({ name: 'Capacity1500' })
    expect(of('Capacity1000', { claims: [] })).toBeNull()
    expect(of('Capacity1000', { limits: { maxWorldCapacity: 1_000 } })).toBeNull()
    expect(of('Capacity10000')).toBeNull()
  })

  test('is the smallest by its configured memory', () => {
    const Capacity100 = { ...scalingProfiles.Capacity100, memoryLimit: '10Gi' }
    expect(of('Capacity30', {}, { ...scalingProfiles, Capacity100 })).toMatchObject({ name: 'Capacity250' })
  })
})

test('a count that has no turn, or takes too long, is unknown, and other errors are errors', async () => {
  const tooSlow = Object.assign(new Error('canceling statement'), { code: '57014' })
  expect(await unlessRefused(Promise.reject(new Problem('rate_limited', 'Too many.')))).toBeUndefined()
  expect(await unlessRefused(Promise.reject(tooSlow))).toBeUndefined()
  expect(await unlessRefused(Promise.resolve(3))).toBe(3)
  await expect(unlessRefused(Promise.reject(new Error('novel')))).rejects.toThrow('novel')
})
