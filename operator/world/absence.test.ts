import { describe, expect, test } from 'vitest'
import { at, runB, startMs } from '#operator/testing/common.ts'
import {
  active,
  aPod,
  applyStatus,
  aService,
  aWorld,
  conditionOf,
  planFor,
  ready,
  running,
  stopped,
} from '#operator/testing/world.ts'
import type { World } from '#shared/resources/world.ts'
import { findDoubts } from './absence.ts'
import type { PlanInput } from './step.ts'

const doubtsOf = (world: World, around: Partial<PlanInput> = {}): string => {
  const input = { world, pod: undefined, service: undefined, ...around }
  const doubts = findDoubts(input, planFor(world, input.pod, startMs, runB, around))
  return [doubts.pod && 'pod', doubts.service && 'service'].filter(Boolean).join()
}

const asking = { ...running, networking: { strategy: 'ClusterIP' } } as const
const stop = (world: World): World => ({ ...world, spec: { ...world.spec, ...stopped } })
const remove = (world: World): World => ({
  ...world,
  metadata: { ...world.metadata, deletionTimestamp: at(startMs) },
})
const pod = aPod({ status: ready() })
const withService = (): World => {
  const world = active(asking)
  return applyStatus(world, planFor(world, pod, startMs, runB, { service: aService('ClusterIP') }))
}
/** The world after the plan of a stop that found no pod. */
const isOver = (world: World): World => applyStatus(stop(world), planFor(stop(world)))

describe('an absent object is read once', () => {
  test.each([
    ['at a stop', stop(active()), 'pod'],
    ['at a stop of a run with a Service', stop(withService()), 'pod,service'],
    ['at a deletion', remove(active()), 'pod'],
    ['at a stop before the first status of the run', stop(aWorld(running)), 'pod'],
    ['at a deletion before the first status of the run', remove(aWorld(running)), 'pod'],
    [
      'at a deletion of a run that follows an ended one',
      remove({ ...isOver(active()), spec: { ...active().spec, runId: runB } }),
      'pod',
    ],
    ['before another pod is created for a run that had one', active(), 'pod'],
  ])('%s', (_, world, read) => {
    expect(doubtsOf(world)).toBe(read)
  })

  test('before another Service is created for a run that has an address', () => {
    expect(doubtsOf(withService(), { pod })).toBe('service')
  })
})

describe('nothing is read', () => {
  test.each([
    ['for a new world', aWorld({ state: 'Stopped' })],
    ['at a start', aWorld(running)],
    ['at a start with a Service', aWorld(asking)],
    ['at a start after an ended run', { ...isOver(active()), spec: { ...active().spec, runId: runB } }],
    ['for a stopped world', isOver(active())],
    ['for a stopped world with a Service', isOver(withService())],
    ['at the deletion of a stopped world', remove(isOver(active()))],
  ])('%s', (_, world) => {
    expect(doubtsOf(world)).toBe('')
  })

  test('while the pod of a stopped world ends', () => {
    expect(doubtsOf(stop(active()), { pod: aPod({ metadata: { deletionTimestamp: at(startMs) } }) })).toBe('')
  })
})

test('an object of another owner that the read at the end of a run shows is named until the next run, and stays', () => {
  const foreign = aPod({ metadata: { ownerReferences: [] } })
  const found = planFor(stop(active()), foreign)
  expect(found.steps).toEqual([])
  expect(found.status).toMatchObject({ phase: 'Stopped', deployment: { status: 'Stopped' } })
  expect(conditionOf(found.status, 'Degraded')).toBe('True/PodNameTaken')
  const stoppedWorld = applyStatus(stop(active()), found)
  expect(planFor(stoppedWorld)).toMatchObject({ steps: [], status: found.status })
  const again = planFor({ ...stoppedWorld, spec: { ...active().spec, runId: runB } })
  expect(conditionOf(again.status, 'Degraded')).toBe('False/AsExpected')
})
