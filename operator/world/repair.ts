import { patchLabels } from '#operator/pods/labels.ts'
import { controllerOf } from '#shared/kube/objects.ts'
import { labels } from '#shared/resources/group.ts'
import { podSelectors } from '#shared/resources/selectors.ts'
import { runIdIn } from './observe.ts'
import { isServiceOf } from './service.ts'
import type { PlanInput, Step } from './step.ts'

/**
 * Returns the steps that put back the labels by which caches, Services and network policies select the world's own pod,
 * Service and route. An object in the input may be absent from the caches because it lacks them.
 */
export const repairSteps = ({ world, pod, service, route }: PlanInput): Step[] => {
  const {
    metadata: { name, uid },
    status,
  } = world
  const steps: Step[] = []
  if (pod !== undefined && controllerOf(pod)?.uid === uid) {
    const wanted = podSelectors.serverOf(name, runIdIn(world, pod) ?? '')
    const patch = patchLabels(pod.metadata.labels, { ...wanted, [labels.botDeployment]: undefined })
    if (patch !== undefined) steps.push({ verb: 'repairPod', pod, patch })
  }
  if (service !== undefined && controllerOf(service)?.uid === uid) {
    const runId = status?.run?.id
    const isOfRun = runId !== undefined && isServiceOf(service, runId)
    const patch = patchLabels(service.metadata.labels, {
      [labels.world]: name,
      ...(isOfRun && { [labels.run]: runId }),
    })
    if (patch !== undefined) steps.push({ verb: 'repairService', service, patch })
  }
  if (typeof route === 'object' && controllerOf(route)?.uid === service?.metadata.uid) {
    const patch = patchLabels(route.metadata.labels, { [labels.world]: name })
    if (patch !== undefined) steps.push({ verb: 'repairRoute', route, patch })
  }
  return steps
}
