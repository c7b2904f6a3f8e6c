import { expect, test } from 'vitest'
import { createdIndexes, planFor, settings, someBots, startedIn } from '#operator/testing/bots.ts'
import { runA } from '#operator/testing/common.ts'
import { scalingProfiles } from '#shared/scalingProfiles.ts'

const bots = (spec: object) => someBots(2, { ...startedIn(runA), spec })
const smaller = { ...scalingProfiles, Capacity10: { ...scalingProfiles.Capacity10, cpuLimit: '50m' } }

test.each([
  [{ cpu: '501m' }, settings, 'The cpu 501m of a bot exceeds'],
  [{ memory: '2049Mi' }, settings, 'The memory 2049Mi of a bot exceeds'],
  [{ cpu: '100m' }, { ...settings, profiles: smaller }, 'which is 50m'],
])('bots of the size %j are not created above the scaling profile of their world', (size, withProfiles, message) => {
  const planned = planFor({ bots: bots(size), settings: withProfiles })
  expect(createdIndexes(planned)).toEqual([])
  expect(planned.status.conditions?.find(({ type }) => type === 'Degraded')?.reason).toBe('SizeNotAllowed')
  expect(planned.status.message).toContain(message)
})

test('bots of the size of the scaling profile are created', () => {
  expect(createdIndexes(planFor({ bots: bots({ cpu: '0.5', memory: '2Gi' }) }))).toEqual([0, 1])
})
