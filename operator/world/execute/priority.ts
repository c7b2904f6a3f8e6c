import { explainWaiting } from '#operator/pods/diagnosis.ts'
import type { Pod } from '#operator/pods/pod.ts'
import { endOf, hasBeenReady } from '#operator/pods/podState.ts'
import type { Priority } from '#shared/kube/queue.ts'
import type { Change } from '#shared/kube/store.ts'
import type { World } from '#shared/resources/world.ts'

/**
 * Returns the priority of a world in the queue after a change of its pod. The first states of a pod have low priority: during many
 * starts, worlds whose pods are Ready or have failed come first. Objects of a full list have low priority too.
 */
export const podChangePriority = ({ type, object, initial }: Change<Pod>): Priority =>
  initial || (type !== 'deleted' && isStarting(object)) ? 'low' : 'normal'

/**
 * Returns the priority of a world in the queue after a change of its World. Many deletions at once do not delay starts and stops.
 * Objects of a full list have low priority.
 */
export const worldChangePriority = ({ type, initial }: Pick<Change<World>, 'type' | 'initial'>): Priority => {
  if (initial) return 'low'
  return type === 'deleted' ? 'normal' : 'high'
}

/** Reports whether a pod was never Ready, and nothing prevents it from becoming Ready. */
const isStarting = (pod: Pod): boolean =>
  pod.metadata.deletionTimestamp === undefined &&
  endOf(pod, 'server') === undefined &&
  !hasBeenReady(pod, 'server') &&
  !explainWaiting(pod, 'server').serious
