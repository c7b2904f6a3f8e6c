import type { ContainerStatus, Pod, PodRole } from './pod.ts'

/** Returns the status of the pod's own container: the one with the name of the role, or else the only one. */
export const containerStatusOf = (pod: Pick<Pod, 'status'>, role: PodRole): ContainerStatus | undefined => {
  const all = pod.status?.containerStatuses ?? []
  return all.find(({ name }) => name === role) ?? (all.length === 1 ? all[0] : undefined)
}

const readyCondition = ({ status }: Pod) =>
  status?.conditions?.find((condition) => condition.type === 'Ready' && condition.status === 'True')

/** Reports whether the pod is Ready. */
export const isReady = (pod: Pod): boolean => readyCondition(pod) !== undefined

/** Returns when the pod became Ready (RFC 3339), or undefined while it is not. */
export const readySince = (pod: Pod): string | undefined =>
  isReady(pod) ? (readyCondition(pod)?.lastTransitionTime ?? pod.metadata.creationTimestamp) : undefined

/** Returns when the pod last became not Ready (RFC 3339), or undefined while it is Ready. */
export const notReadySince = ({ status }: Pod): string | undefined =>
  status?.conditions?.find(({ type, status: ready }) => type === 'Ready' && ready !== 'True')?.lastTransitionTime

/**
 * Reports whether the pod is or was Ready. The kubelet reports a new pod as not Ready before it starts the container; a
 * later change to not Ready means that the pod was Ready in between.
 */
export const hasBeenReady = (pod: Pod, role: PodRole): boolean => {
  const changedAt = pod.status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime
  const startedAt = containerStatusOf(pod, role)?.state?.running?.startedAt
  return isReady(pod) || Date.parse(changedAt ?? '') > Date.parse(startedAt ?? '')
}

/**
 * Returns how the pod's own container ended, or undefined while it has not. Sidecars, such as that of a service mesh, do
 * not count. If a failed pod has a reason of its own, the cluster ended it, and the exit code does not count.
 */
export const endOf = (pod: Pod, role: PodRole): 'Succeeded' | 'Failed' | undefined => {
  const { phase, reason } = pod.status ?? {}
  const terminated = containerStatusOf(pod, role)?.state?.terminated
  if (terminated !== undefined && !(phase === 'Failed' && reason))
    return terminated.exitCode === 0 ? 'Succeeded' : 'Failed'
  return phase === 'Succeeded' || phase === 'Failed' ? phase : undefined
}

/** Returns how long the container ran before it ended, in milliseconds; 0 if unknown. */
export const ranForMs = (pod: Pod, role: PodRole): number => {
  const terminated = containerStatusOf(pod, role)?.state?.terminated
  return Date.parse(terminated?.finishedAt ?? '') - Date.parse(terminated?.startedAt ?? '') || 0
}
