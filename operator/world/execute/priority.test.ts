import { describe, expect, test } from 'vitest'
import { at, startMs } from '#operator/testing/common.ts'
import { aPod, evicted, notReady, outOfMemory, ready, waitingFor } from '#operator/testing/world.ts'
import { podChangePriority, worldChangePriority } from './priority.ts'

const created = aPod()
const change = { key: 'home/world', initial: false } as const

describe('a change of a pod has', () => {
  test.each([
    ['is created', created],
    ['has a node', aPod({ metadata: { resourceVersion: '2' } })],
    ['runs its container', aPod({ status: notReady(startMs) })],
    ['creates its container', aPod({ status: waitingFor('ContainerCreating') })],
  ])('low priority if the pod starts and %s', (_, object) => {
    expect(podChangePriority({ ...change, type: 'updated', old: created, object })).toBe('low')
  })

  test.each([
    ['is Ready', aPod({ status: ready() })],
    ['is no longer Ready', aPod({ status: notReady(startMs + 60_000) })],
    ['has failed', aPod({ status: outOfMemory })],
    ['is evicted', aPod({ status: evicted })],
    ['cannot start', aPod({ status: waitingFor('ErrImagePull') })],
    ['is being deleted', aPod({ metadata: { deletionTimestamp: at(startMs) } })],
  ])('normal priority if the pod %s', (_, object) => {
    expect(podChangePriority({ ...change, type: 'updated', old: created, object })).toBe('normal')
  })

  test('normal priority if the pod is gone', () => {
    expect(podChangePriority({ ...change, type: 'deleted', object: created })).toBe('normal')
  })

  test('low priority if it comes from a full list', () => {
    expect(podChangePriority({ ...change, initial: true, type: 'added', object: aPod({ status: ready() }) })).toBe(
      'low',
    )
  })
})

test.each([
  ['added', false, 'high'],
  ['updated', false, 'high'],
  ['deleted', false, 'normal'],
  ['added', true, 'low'],
  ['deleted', true, 'low'],
] as const)('a World that is %s (in a full list: %s) has the priority %s', (type, initial, priority) => {
  expect(worldChangePriority({ type, initial })).toBe(priority)
})
