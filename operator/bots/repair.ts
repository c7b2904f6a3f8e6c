import { patchLabels } from '#operator/pods/labels.ts'
import { controllerOf } from '#shared/kube/objects.ts'
import { labels } from '#shared/resources/group.ts'
import { podSelectors } from '#shared/resources/selectors.ts'
import type { PlanInput, Step } from './step.ts'

/**
 * Returns the steps that put back the labels by which caches and network policies select the bots. A pod in the input may be absent
 * from the cache because it lacks them.
 */
export const repairSteps = ({ bots, pods }: PlanInput): Step[] =>
  pods.flatMap((pod): Step[] => {
    if (controllerOf(pod)?.uid !== bots.metadata.uid) return []
    const wanted = { ...podSelectors.bots, [labels.botDeployment]: bots.metadata.name }
    const patch = patchLabels(pod.metadata.labels, wanted)
    return patch === undefined ? [] : [{ verb: 'repairPod', pod, patch }]
  })
