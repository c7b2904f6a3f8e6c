import { describe, expect, test } from 'vitest'
import {
  aBot,
  executePlan,
  planFor,
  readyBots,
  settle,
  someBots,
  startedIn,
  type TestInput,
} from '#operator/testing/bots.ts'
import { at, runA, startMs } from '#operator/testing/common.ts'
import { labels } from '#shared/resources/group.ts'
import { isAbsenceDoubted } from './absence.ts'

const running = settle({ bots: someBots(2, startedIn(runA)), pods: readyBots(2) })
const unlabelled = aBot(0, { metadata: { labels: { [labels.run]: runA } } })

test('a changed label of a bot is put back, whether the bot stays or not', () => {
  const restored = { metadata: { labels: { 'app.kubernetes.io/component': 'bot', [labels.botDeployment]: 'bot-1' } } }
  const repair = { verb: 'repairPod', pod: unlabelled, patch: restored }
  expect(planFor({ ...running, pods: [unlabelled, aBot(1)] }).steps).toEqual([repair])
  const none = planFor({ bots: { ...running.bots, spec: { ...running.bots.spec, count: 0 } }, pods: [unlabelled] })
  expect(none.steps).toMatchObject([repair, { verb: 'deletePod', pod: unlabelled }])
  const foreign = aBot(0, { metadata: { labels: {}, ownerReferences: [] } })
  expect(planFor({ ...running, pods: [foreign, aBot(1)] }).steps).toEqual([])
})

/** Says whether a reconcile without pods reads them, and one after it. */
const reads = (input: TestInput): boolean[] => {
  const once = (now: TestInput): boolean => isAbsenceDoubted(now, planFor(now))
  const now = { ...input, pods: [] }
  return [once(now), once(executePlan(now, planFor(now)))]
}

describe('the absence of all bots', () => {
  const { bots } = running
  test.each([
    ['with count 0', { bots: { ...bots, spec: { ...bots.spec, count: 0 } } }],
    ['when their world has no run', { bots, world: undefined }],
    ['when they are deleted', { bots: { ...bots, metadata: { ...bots.metadata, deletionTimestamp: at(startMs) } } }],
    ['when their namespace is closed', { bots, policy: { isClosed: true as const } }],
  ])('is read once %s', (_, input) => {
    expect(reads(input)).toEqual([true, false])
  })

  test('is not read while bots start or are replaced, nor for a deployment that never ran', () => {
    expect(reads({ bots: someBots(2) })).toEqual([false, false])
    expect(reads({ bots })).toEqual([false, false])
    expect(reads({ bots: someBots(0) })).toEqual([false, false])
  })
})
