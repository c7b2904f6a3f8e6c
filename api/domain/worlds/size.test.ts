import { expect, test } from 'vitest'
import { checkWorldSize } from './size.ts'

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
