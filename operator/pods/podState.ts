import type { ContainerStatus, Pod, PodRole } from './pod.ts'

/** Returns the status of the pod's own container. Without that name, as in old pods, it is the first container. */
export const containerStatusOf = (pod: Pod, role: PodRole): ContainerStatus | undefined => {
  const all = pod.status?.containerStatuses
  return all?.find(({ name }) => name === role) ?? all?.[0]
}

const readyCondition = ({ status }: Pod) =>
  status?.conditions?.find((condition) => condition.type === 'Ready' && condition.status === 'True')

/** Reports whether the pod is Ready. */
export const isReady = (pod: Pod): boolean => readyCondition(pod) !== undefined

/** Returns when the pod became Ready (RFC 3339), or undefined while it is not. */
export const readySince = (pod: Pod): string | undefined =>
  isReady(pod) ? (readyCondition(pod)?.lastTransitionTime ?? pod.metadata.creationTimestamp) : undefined

/** Reports whether the containers of the pod have ended. */
export const isFinished = ({ status }: Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed'

/** Returns how long the container ran before it ended, in milliseconds; 0 if unknown. */
export const ranForMs = (pod: Pod, role: PodRole): number => {
  const terminated = containerStatusOf(pod, role)?.state?.terminated
  return Date.parse(terminated?.finishedAt ?? '') - Date.parse(terminated?.startedAt ?? '') || 0
}
