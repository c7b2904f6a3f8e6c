import type { Pod } from '#operator/pods/pod.ts'
import type { Clock } from '#shared/clock.ts'
import { controllerOf } from '#shared/kube/objects.ts'
import type { Reflector } from '#shared/kube/reflector.ts'
import type { World } from '#shared/resources/world.ts'

/** The lag of the garbage collector with the pods of Worlds that the cache has seen deleted. */
export type CollectorLag = {
  /**
   * Returns the milliseconds that the pod of the deleted World with this uid is left to the garbage collector; 0 if the operator
   * should delete it now, because a pod has been left for too long already, or because the cache has not seen the deletion.
   */
  leftMs(uid: string): number
}

/**
 * The longest time that a pod is left to the garbage collector. Without a backlog, it deletes a pod within a few milliseconds. By
 * default it may send 20 requests per second, so the operator deletes most pods of many Worlds.
 */
const patienceMs = 300

/**
 * Tracks the pods of deleted Worlds that nobody has deleted yet. While the garbage collector keeps up, the operator leaves them to
 * it, so that they do not both delete the same pods. While it does not, the operator deletes the newest ones, and the
 * collector the oldest.
 */
export const trackCollectorLag = (
  { worlds, pods }: { worlds: Pick<Reflector<World>, 'onChange'>; pods: Pick<Reflector<Pod>, 'onChange' | 'store'> },
  clock: Pick<Clock, 'monotonic'>,
): CollectorLag => {
  /** The times at which the owners of these pods were seen deleted, by the uid of the owner, oldest first. */
  const deletedMs = new Map<string, number>()
  worlds.onChange(({ type, key, object }) => {
    const { uid } = object.metadata
    if (type !== 'deleted' || uid === undefined) return
    const pod = pods.store.get(key)
    if (pod === undefined || isLeaving(pod) || controllerOf(pod)?.uid !== uid) return
    deletedMs.set(uid, clock.monotonic())
  })
  pods.onChange(({ type, object }) => {
    if (type === 'deleted' || isLeaving(object)) deletedMs.delete(controllerOf(object)?.uid ?? '')
  })
  return {
    leftMs: (uid) => {
      const ownMs = deletedMs.get(uid)
      const [oldestMs = 0] = deletedMs.values()
      const nowMs = clock.monotonic()
      if (ownMs === undefined || nowMs - oldestMs >= patienceMs) return 0
      return ownMs + patienceMs - nowMs
    },
  }
}

const isLeaving = ({ metadata }: Pod): boolean => metadata.deletionTimestamp !== undefined
