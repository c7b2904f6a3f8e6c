import { controllerOf } from '#shared/kube/objects.ts'
import { labels } from '#shared/resources/group.ts'
import type { World } from '#shared/resources/world.ts'
import type { Pod } from './pod.ts'

/**
 * The one pod that bears the world's name, sorted once, so that later code only asks for the kind:
 * - `none`: there is no pod of that name;
 * - `foreign`: it is not controlled by this world (a stranger, or left by an earlier world of the same name);
 * - `terminating`: it is ours and on its way out, for whatever reason;
 * - `older`: it is ours, of another run than the one asked about;
 * - `current`: it is ours, of that run, and stays.
 */
export type Server =
  | { readonly kind: 'none' }
  | { readonly kind: 'foreign' | 'terminating' | 'older' | 'current'; readonly pod: Pod }

/** Sorts the pod that bears the world's name, as seen from the run `runId`. */
export const observeServer = (world: World, pod: Pod | undefined, runId: string | undefined): Server => {
  if (pod === undefined) return { kind: 'none' }
  if (controllerOf(pod)?.uid !== world.metadata.uid) return { kind: 'foreign', pod }
  if (pod.metadata.deletionTimestamp !== undefined) return { kind: 'terminating', pod }
  if (pod.metadata.labels?.[labels.run] !== runId) return { kind: 'older', pod }
  return { kind: 'current', pod }
}

/** When the pod became Ready, or undefined while it is not. */
export const readySince = (pod: Pod): string | undefined => {
  const ready = pod.status?.conditions?.find((condition) => condition.type === 'Ready')
  return ready?.status === 'True' ? (ready.lastTransitionTime ?? pod.metadata.creationTimestamp) : undefined
}

/** Whether the pod was removed by the cluster (eviction, preemption, node shutdown) rather than failing by itself. */
export const wasDisrupted = (pod: Pod): boolean =>
  pod.status?.reason === 'Evicted' ||
  (pod.status?.conditions?.some((condition) => condition.type === 'DisruptionTarget' && condition.status === 'True') ??
    false)

/** Whether a pod will not become Ready by waiting alone: no node takes it, or its container cannot be made. */
export const needsAttention = (pod: Pod): boolean => {
  const waiting = pod.status?.containerStatuses?.[0]?.state?.waiting?.reason
  return (
    pod.status?.conditions?.some(({ type, status }) => type === 'PodScheduled' && status === 'False') === true ||
    (waiting !== undefined && waiting !== 'ContainerCreating')
  )
}

/** Why a pod is not Ready yet, or how it failed, in one sentence. The first reason that applies is the answer. */
export const explain = (pod: Pod): string => {
  for (const reason of reasons) {
    const sentence = reason(pod)
    if (sentence !== undefined) return sentence
  }
  return 'waiting for the server to become ready'
}

const reasons: readonly ((pod: Pod) => string | undefined)[] = [
  (pod) => {
    const terminated = pod.status?.containerStatuses?.[0]?.state?.terminated
    if (terminated === undefined || pod.status?.phase !== 'Failed') return undefined
    return `the server ended with exit code ${terminated.exitCode ?? 'unknown'}${inBrackets(terminated.reason)}`
  },
  (pod) =>
    pod.status?.phase === 'Failed'
      ? `the server was ended${inBrackets(pod.status.reason)}${afterColon(pod.status.message)}`
      : undefined,
  (pod) => {
    const scheduled = pod.status?.conditions?.find((condition) => condition.type === 'PodScheduled')
    return scheduled?.status === 'False' ? `waiting for a node${afterColon(scheduled.message)}` : undefined
  },
  (pod) => {
    const waiting = pod.status?.containerStatuses?.[0]?.state?.waiting
    if (waiting?.reason === undefined || waiting.reason === 'ContainerCreating') return undefined
    return `waiting for the server's container (${waiting.reason})${afterColon(waiting.message)}`
  },
  (pod) => (pod.spec?.nodeName === undefined ? 'waiting for a node' : undefined),
  (pod) => (pod.status?.phase === 'Running' ? undefined : 'waiting for the server to start'),
]

const inBrackets = (text: string | undefined): string => (text ? ` (${text})` : '')
const afterColon = (text: string | undefined): string => (text ? `: ${text}` : '')
