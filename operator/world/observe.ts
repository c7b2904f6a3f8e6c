import { type NodeState, observeNode } from '#operator/pods/node.ts'
import { type Pod, runIdOf } from '#operator/pods/pod.ts'
import { podDeletionStep, type StopSettings } from '#operator/pods/termination.ts'
import { controllerOf } from '#shared/kube/objects.ts'
import type { World, WorldRun } from '#shared/resources/world.ts'
import { captureRun } from './run.ts'
import type { PlanInput, Step } from './step.ts'

/**
 * The pod with the world's name, sorted once:
 * - `none`: there is no such pod;
 * - `stranger`: this world does not control it;
 * - `terminating`: it is ours and has a deletionTimestamp;
 * - `older`: it is ours and of another run than `runId`;
 * - `current`: it is ours and of that run.
 */
export type Server =
  | { readonly kind: 'none' }
  | { readonly kind: 'stranger'; readonly pod: Pod }
  | { readonly kind: 'terminating' | 'older' | 'current'; readonly pod: Pod; readonly node: NodeState }

/** A server that belongs to the world. */
export type OwnServer = Extract<Server, { node: NodeState }>

/** Returns the run of a pod: the recorded one if the status shows this pod, since its label may have been changed. */
export const runIdIn = ({ status }: World, pod: Pod): string | undefined =>
  status?.deployment?.externalId === pod.metadata.uid ? status?.run?.id : runIdOf(pod)

/** Sorts the pod with the world's name, as seen from the run `runId`. */
export const observeServer = (input: PlanInput, runId: string | undefined): Server => {
  const { world, pod, settings, nowMs } = input
  if (pod === undefined) return { kind: 'none' }
  if (controllerOf(pod)?.uid !== world.metadata.uid) return { kind: 'stranger', pod }
  const node = observeNode(pod, input.node, settings.nodeLostForceMs, nowMs)
  if (pod.metadata.deletionTimestamp !== undefined) return { kind: 'terminating', pod, node }
  return { kind: runIdIn(world, pod) === runId ? 'current' : 'older', pod, node }
}

/** Returns the run of the current pod if the status does not have it yet, or else the run in the status. */
export const observeRun = (input: PlanInput): WorldRun | undefined => {
  const { world, pod } = input
  const recorded = world.status?.run
  const isOurs = pod !== undefined && controllerOf(pod)?.uid === world.metadata.uid
  const podRunId = isOurs ? runIdIn(world, pod) : undefined
  return podRunId === undefined || podRunId === recorded?.id ? recorded : captureRun(input, podRunId)
}

/** Returns the step that deletes a server, if there is one to delete; it force-deletes if the node is dead. */
export const serverDeletionSteps = (server: Server, settings: StopSettings): Step[] => {
  if (server.kind === 'none' || server.kind === 'stranger') return []
  if (server.node.kind === 'dead') return [{ verb: 'forceDeletePod', pod: server.pod }]
  return server.kind === 'terminating' ? [] : [podDeletionStep(server.pod, 'server', settings)]
}
