import { expect, test } from 'vitest'
import { stageSeconds } from './startStages.ts'

const at = (second: number): string => new Date(second * 1_000).toISOString()
const condition = (type: string, second: number) => ({ type, status: 'True', lastTransitionTime: at(second) })
const begun = (second: number) => ({ startedAt: at(second), probes: true })
const pod = {
  status: {
    conditions: [condition('PodScheduled', 11), condition('Ready', 17)],
    containerStatuses: [
      { name: 'sidecar', state: { running: { startedAt: at(12) } } },
      { name: 'server', state: { running: { startedAt: at(14) } } },
    ],
  },
}

test('the stages of a start sum up to its duration', () => {
  expect(stageSeconds(begun(10), pod, 17_500)).toEqual([
    { stage: 'schedule', seconds: 1 },
    { stage: 'container', seconds: 3 },
    { stage: 'ready', seconds: 3 },
    { stage: 'address', seconds: 0.5 },
  ])
})

test('an unknown stage counts for the next one, and no stage is negative', () => {
  const { conditions } = pod.status
  expect(stageSeconds(begun(12), { status: { conditions } }, 16_000)).toEqual([
    { stage: 'schedule', seconds: 0 },
    { stage: 'ready', seconds: 5 },
    { stage: 'address', seconds: 0 },
  ])
})

test('a server that must answer is Ready with its first answer, which ends its start', () => {
  const query = { protocol: 'A2S', timeoutSeconds: 2 } as const
  expect(stageSeconds({ ...begun(10), query }, pod, 40_000)).toEqual([
    { stage: 'schedule', seconds: 1 },
    { stage: 'container', seconds: 3 },
    { stage: 'ready', seconds: 26 },
    { stage: 'address', seconds: 0 },
  ])
})
