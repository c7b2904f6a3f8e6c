import { controllerOf } from '#shared/kube/objects.ts'
import { labels } from '#shared/resources/group.ts'
import type { WorldRun } from '#shared/resources/world.ts'
import { type NodeView, observeNode } from './node.ts'
import type { Pod } from './pod.ts'
import { freezeRun } from './run.ts'
import type { PlanInput } from './step.ts'

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
  | { readonly kind: 'foreign'; readonly pod: Pod }
  | { readonly kind: 'terminating' | 'older' | 'current'; readonly pod: Pod; readonly node: NodeView }

/** Sorts the pod that bears the world's name, as seen from the run `runId`. */
export const observeServer = (input: PlanInput, runId: string | undefined): Server => {
  const { world, pod, settings, nowMs } = input
  if (pod === undefined) return { kind: 'none' }
  if (controllerOf(pod)?.uid !== world.metadata.uid) return { kind: 'foreign', pod }
  const node = observeNode(pod, input.node, settings, nowMs)
  if (pod.metadata.deletionTimestamp !== undefined) return { kind: 'terminating', pod, node }
  if (pod.metadata.labels?.[labels.run] !== runId) return { kind: 'older', pod, node }
  return { kind: 'current', pod, node }
}

/** The run of the server that is there, where no status speaks of it yet; otherwise the one that the status speaks of. */
export const lastRun = ({ world, pod, settings, nowMs }: PlanInput): WorldRun | undefined => {
  const recorded = world.status?.run
  const isOurs = pod !== undefined && controllerOf(pod)?.uid === world.metadata.uid
  const made = isOurs ? pod.metadata.labels?.[labels.run] : undefined
  return made === undefined || made === recorded?.id ? recorded : freezeRun(world, made, settings, nowMs)
}

/** When the pod became Ready, or undefined while it is not. */
export const readySince = (pod: Pod): string | undefined => {
  const ready = pod.status?.conditions?.find((condition) => condition.type === 'Ready')
  return ready?.status === 'True' ? (ready.lastTransitionTime ?? pod.metadata.creationTimestamp) : undefined
}

/** How long after its grace a pod is reported as stuck: the kubelet needs a moment to tell that it is over. */
const stuckSlackMs = 10_000

/** When a pod that is being deleted counts as stuck; its deletionTimestamp is the end of its grace period. */
export const stuckAtMs = (pod: Pod): number => {
  const graceEndsMs = Date.parse(pod.metadata.deletionTimestamp ?? '')
  return Number.isNaN(graceEndsMs) ? Number.POSITIVE_INFINITY : graceEndsMs + stuckSlackMs
}
