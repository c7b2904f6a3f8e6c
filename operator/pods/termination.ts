import { type Diagnosis, seriousDiagnosis } from './diagnosis.ts'
import type { NodeState } from './node.ts'
import type { Pod, PodRole } from './pod.ts'
import { hasBeenReady } from './podState.ts'

/** The time after the grace period at which a pod counts as stuck: the kubelet confirms the end with a delay. */
const stuckSlackMs = 10_000

/** A pod and the state of its node. */
export type PlacedPod = { readonly pod: Pod; readonly node: NodeState }

/** The step that deletes a pod. Without `graceSeconds` the pod has its own grace period. */
export type DeletePod = { readonly verb: 'deletePod'; readonly pod: Pod; readonly graceSeconds?: number }

/** The settings for the end of a pod. */
export type StopSettings = {
  /** The time between SIGTERM and SIGKILL. */
  readonly stopGraceSeconds: number
  /** The same for a pod that was never Ready: it has no players, and may not handle SIGTERM yet. */
  readonly unreadyStopGraceSeconds: number
}

/** Returns the step that deletes a pod, with a shorter grace period for a pod that was never Ready. */
export const podDeletionStep = (pod: Pod, role: PodRole, settings: StopSettings): DeletePod => ({
  verb: 'deletePod',
  pod,
  ...(hasBeenReady(pod, role)
    ? {}
    : { graceSeconds: Math.min(settings.stopGraceSeconds, settings.unreadyStopGraceSeconds) }),
})

/** Returns what keeps a pod from ending: its node, or a finalizer after the grace period. Undefined if nothing does. */
export const explainBlockedEnd = ({ pod, node }: PlacedPod, nowMs: number): Diagnosis | undefined => {
  if (node.kind === 'dead') return seriousDiagnosis('NodeLost', `${node.why} The pod is force-deleted.`)
  if (node.kind === 'unreachable') return explainUnreachable(node)
  if (nowMs < stuckAtMs(pod)) return undefined
  const finalizers = pod.metadata.finalizers ?? []
  const why =
    finalizers.length > 0
      ? `finalizer ${finalizers.join(', ')} blocks the deletion of its pod. The owner of the finalizer must remove it.`
      : `node ${pod.spec?.nodeName ?? '(none)'} has not confirmed its end.`
  return seriousDiagnosis(
    'TerminationStuck',
    `The server should have stopped at ${pod.metadata.deletionTimestamp}, but ${why}`,
  )
}

/** The diagnosis of a server whose node does not report. */
export const explainUnreachable = ({ name, since }: NodeState & { readonly kind: 'unreachable' }): Diagnosis =>
  seriousDiagnosis(
    'NodeUnreachable',
    `Node ${name} has not reported since ${since}, so the server may still run there. ` +
      'Wait for the node to return, or ask the platform operator to delete the Node or mark it as out of service.',
  )

/** Returns the milliseconds after which a pod that does not end counts as stuck or as lost; undefined if it never will. */
export const nextChangeMs = ({ pod, node }: PlacedPod, nowMs: number): number | undefined => {
  if (node.kind === 'unreachable') return node.forceAtMs === undefined ? undefined : node.forceAtMs - nowMs
  const leftMs = stuckAtMs(pod) - nowMs
  return Number.isFinite(leftMs) && leftMs > 0 ? leftMs : undefined
}

/** A deletionTimestamp is the end of the grace period. */
const stuckAtMs = ({ metadata }: Pod): number =>
  metadata.deletionTimestamp === undefined
    ? Number.POSITIVE_INFINITY
    : Date.parse(metadata.deletionTimestamp) + stuckSlackMs
