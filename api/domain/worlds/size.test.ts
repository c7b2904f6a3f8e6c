import { expect, test } from 'vitest'
import { scalingProfiles } from '#shared/scalingProfiles.ts'
import { checkWorldSize, explainProfileForBots } from './size.ts'

const limits = { maxWorlds: 10, maxWorldCapacity: 2_500, maxRunningCapacity: 100 }

test.each([
  ['Capacity30', 30, [], undefined],
  ['Capacity30', 31, [], 'The capacity 31 exceeds that of Capacity30, which is 30.'],
  ['Capacity1000', 1_000, [], undefined],
  ['Capacity1500', 1, [], 'requires the claim largeWorlds'],
  ['Capacity1500', 1_500, ['largeWorlds'], undefined],
  ['Capacity2500', 2_500, ['largeWorlds'], undefined],
  ['Capacity5000', 1, ['largeWorlds'], 'larger than maxWorldCapacity of the organization, which is 2500.'],
] as const)('checks %s with capacity %i and claims %j; error: %s', (profile, capacity, claims, refusal) => {
  const attempt = () => checkWorldSize({ profile, capacity }, { limits, claims })
  if (refusal === undefined) attempt()
  else
    expect(attempt).toThrow(
      expect.objectContaining({ code: 'size_not_allowed', message: expect.stringContaining(refusal) }),
    )
})

test.each([
  ['Capacity60', 'Capacity30', { live: 30, cores: 1, gibibytes: 4 }, undefined],
  [
    'Capacity60',
    'Capacity30',
    { live: 31, cores: 1, gibibytes: 1 },
    'The world has 31 bots, and Capacity30 allows 30.',
  ],
  ['Capacity30', 'Capacity10', { live: 1, cores: 0.501, gibibytes: 1 }, 'a cpu of 501m, and Capacity10 allows 500m.'],
  ['Capacity30', 'Capacity10', { live: 0, cores: 0.5, gibibytes: 3 }, 'Capacity10 allows 2Gi.'],
  ['Capacity30', 'Capacity100', { live: 31, cores: 4, gibibytes: 9 }, undefined],
] as const)('a change from %s to %s with bots %j is refused with: %s', (before, next, bots, refusal) => {
  const { live, cores, gibibytes } = bots
  const largest = { millicores: cores * 1_000, bytes: gibibytes * 2 ** 30 }
  const why = explainProfileForBots(scalingProfiles[before], scalingProfiles[next], { live, largest })
  if (refusal === undefined) expect(why).toBeUndefined()
  else expect(why).toContain(refusal)
})
