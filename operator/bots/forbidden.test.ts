import { expect, test } from 'vitest'
import { runA } from '#operator/testing/fixtures.ts'
import { createdIndexes, planFor, someBots, startedIn } from './fixtures.ts'

const limits = {
  maxWorldCapacity: 100,
  maxRunningCapacity: 100,
  maxBotCpuMillicores: 1_000,
  maxBotMemoryBytes: 2 ** 30,
}

test.each([
  [{ cpu: '96' }, 'SizeNotAllowed', 'maxBotCpuMillicores'],
  [{ memory: '900Gi' }, 'SizeNotAllowed', 'maxBotMemoryBytes'],
])('bots of the size %j are not created above the limits of the namespace', (size, reason, limit) => {
  const planned = planFor({ bots: someBots(2, { ...startedIn(runA), spec: size }), policy: { limits } })
  expect(createdIndexes(planned)).toEqual([])
  expect(planned.status.conditions?.find(({ type }) => type === 'Degraded')?.reason).toBe(reason)
  expect(planned.status.message).toContain(limit)
  expect(planned.requeueAfterMs).toBe(15_000)
})

test('bots within the limits of the namespace are created, and no bots below unreadable ones', () => {
  const bots = someBots(2, startedIn(runA))
  expect(createdIndexes(planFor({ bots, policy: { limits } }))).toEqual([0, 1])
  expect(createdIndexes(planFor({ bots, policy: { isInvalid: true } }))).toEqual([])
})
