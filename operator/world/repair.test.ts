import { describe, expect, test } from 'vitest'
import { runA, runB, startMs } from '#operator/testing/common.ts'
import {
  active,
  aPod,
  aService,
  conditionOf,
  planFor,
  ready,
  running,
  stopped,
  verbs,
} from '#operator/testing/world.ts'
import { labels } from '#shared/resources/group.ts'

const withService = active({ ...running, networking: { strategy: 'ClusterIP' } })
const name = withService.metadata.name
const pod = aPod({ status: ready() })
const relabelled = (changes: Record<string, string | undefined>) => ({
  ...pod,
  metadata: { ...pod.metadata, labels: { ...pod.metadata.labels, ...changes } as Record<string, string> },
})

describe('the labels of the pod of a world', () => {
  test.each([
    ['removed', { [labels.world]: undefined }, { [labels.world]: name }],
    ['that bots have not', { [labels.component]: undefined }, { [labels.component]: 'world' }],
    ['of another run', { [labels.run]: runB }, { [labels.run]: runA }],
    ['of a bot deployment', { [labels.botDeployment]: 'bots' }, { [labels.botDeployment]: null }],
  ])('are put back while it runs: %s', (_, changes, restored) => {
    const planned = planFor(active(), relabelled(changes))
    expect(planned.steps).toEqual([
      { verb: 'repairPod', pod: relabelled(changes), patch: { metadata: { labels: restored } } },
    ])
    expect(planned.status).toEqual(planFor(active(), pod).status)
  })

  test('are put back before a stop deletes the pod, so that the cache shows its end', () => {
    const stop = { ...active(), spec: { ...active().spec, ...stopped } }
    expect(verbs(planFor(stop, relabelled({ [labels.world]: undefined })))).toEqual(['repairPod', 'deletePod'])
  })

  test('are left alone while the world is paused', () => {
    const paused = { ...active(), metadata: { ...active().metadata, annotations: { 'orrery.dev/paused': 'true' } } }
    expect(planFor(paused, relabelled({ [labels.world]: undefined })).steps).toEqual([])
  })

  test('are left alone if the pod belongs to another owner', () => {
    const foreign = aPod({ metadata: { labels: {}, ownerReferences: [] } })
    expect(planFor(active(), foreign).steps).toEqual([])
  })
})

test.each([
  ['world', { [labels.run]: runA }, { [labels.world]: name }],
  ['run', { [labels.world]: name }, { [labels.run]: runA }],
])('the label %s of a Service is put back, and the Service keeps its address', (_, left, restored) => {
  const service = aService('ClusterIP', { metadata: { labels: left } })
  const planned = planFor(withService, pod, startMs, runB, { service })
  expect(planned.steps).toEqual([{ verb: 'repairService', service, patch: { metadata: { labels: restored } } }])
  expect(conditionOf(planned.status, 'Ready')).toBe('True/ServerReady')
})
