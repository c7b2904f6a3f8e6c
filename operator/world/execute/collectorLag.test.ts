import { expect, test } from 'vitest'
import type { Pod } from '#operator/pods/pod.ts'
import { at, controllerReference, startMs } from '#operator/testing/fixtures.ts'
import type { Change } from '#shared/kube/store.ts'
import type { World } from '#shared/resources/world.ts'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { aPod, aWorld, running } from '../fixtures.ts'
import { trackCollectorLag } from './collectorLag.ts'

const startTracking = () => {
  const clock = createFakeClock(startMs)
  const pods = new Map<string, Pod>()
  let reportWorld: (change: Change<World>) => void = () => undefined
  let reportPod: (change: Change<Pod>) => void = () => undefined
  const lag = trackCollectorLag(
    {
      worlds: {
        onChange: (listener) => {
          reportWorld = listener
        },
      },
      pods: {
        onChange: (listener) => {
          reportPod = listener
        },
        store: pods as never,
      },
    },
    clock,
  )
  const podOf = (uid: string): Pod => aPod({ metadata: { ownerReferences: [controllerReference('World', uid, uid)] } })
  return {
    clock,
    leftMs: (uid: string) => lag.leftMs(uid),
    /** The cache has the pod of a World, and sees that the World is deleted. */
    deleteWorld: (uid: string, pod: Pod | null = podOf(uid)) => {
      if (pod !== null) pods.set(uid, pod)
      const world = aWorld(running)
      reportWorld({
        type: 'deleted',
        key: uid,
        object: { ...world, metadata: { ...world.metadata, uid } },
        initial: false,
      })
    },
    /** The cache sees that the pod of a World is being deleted, or is gone. */
    deletePod: (uid: string, type: 'updated' | 'deleted') => {
      const pod = podOf(uid)
      const leaving = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: at(startMs) } }
      if (type === 'deleted') reportPod({ type, key: uid, object: pod, initial: false })
      else reportPod({ type, key: uid, object: leaving, old: pod, initial: false })
    },
    podOf,
  }
}

test('leaves the pod of a deleted World to the garbage collector for 300 ms', () => {
  const { clock, deleteWorld, leftMs } = startTracking()
  deleteWorld('a')
  expect(leftMs('a')).toBe(300)
  clock.advance(299)
  expect(leftMs('a')).toBe(1)
  clock.advance(1)
  expect(leftMs('a')).toBe(0)
})

test('leaves no pod to the garbage collector while one has been left for 300 ms', () => {
  const { clock, deleteWorld, leftMs } = startTracking()
  deleteWorld('a')
  clock.advance(300)
  deleteWorld('b')
  expect(leftMs('b')).toBe(0)
})

test.each(['updated', 'deleted'] as const)('leaves pods again once the late pod is %s', (type) => {
  const { clock, deleteWorld, deletePod, leftMs } = startTracking()
  deleteWorld('a')
  clock.advance(200)
  deleteWorld('b')
  clock.advance(150)
  deletePod('a', type)
  expect(leftMs('b')).toBe(150)
})

test('does not leave the pod of a World whose deletion it has not seen', () => {
  const { leftMs } = startTracking()
  expect(leftMs('unknown')).toBe(0)
})

test('a deleted World without a pod, with a pod that is being deleted, or with the pod of another World is not late', () => {
  const { clock, deleteWorld, leftMs, podOf } = startTracking()
  deleteWorld('none', null)
  const pod = podOf('leaving')
  deleteWorld('leaving', { ...pod, metadata: { ...pod.metadata, deletionTimestamp: at(startMs) } })
  deleteWorld('taken', podOf('another'))
  clock.advance(300)
  deleteWorld('a')
  expect(leftMs('a')).toBe(300)
})
