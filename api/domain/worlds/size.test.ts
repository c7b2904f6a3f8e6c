import { expect, test } from 'vitest'
import { refuseSize } from './size.ts'

const limits = { maxWorlds: 10, maxWorldCapacity: 2_500, maxRunningCapacity: 100 }

test.each([
  ['Capacity30', 30, [], undefined],
  ['Capacity30', 31, [], 'needs a larger scaling profile'],
  ['Capacity1000', 1_000, [], undefined],
  ['Capacity1500', 1, [], 'needs the claim largeWorlds'],
  ['Capacity1500', 1_500, ['largeWorlds'], undefined],
  ['Capacity2500', 2_500, ['largeWorlds'], undefined],
  ['Capacity5000', 1, ['largeWorlds'], 'maxWorldCapacity of 2500'],
] as const)('%s with capacity %i and claims %j: %s', (profile, capacity, claims, refusal) => {
  const attempt = () => refuseSize({ profile, capacity }, { limits, claims })
  if (refusal === undefined) attempt()
  else
    expect(attempt).toThrow(
      expect.objectContaining({ code: 'size_not_allowed', message: expect.stringContaining(refusal) }),
    )
})
