import { findCondition } from '#operator/lifecycle/events.ts'
import { type Diagnosis, podNameTaken } from '#operator/pods/diagnosis.ts'
import type { Pod } from '#operator/pods/pod.ts'
import type { Service } from '#operator/pods/service.ts'
import { explainBlockedEnd, nextChangeMs } from '#operator/pods/termination.ts'
import { hasEnded } from '#shared/domain/phases.ts'
import { controllerOf } from '#shared/kube/objects.ts'
import { withDefined } from '#shared/optional.ts'
import { apiFinalizer } from '#shared/resources/group.ts'
import { observeServer, serverDeletionSteps } from './observe.ts'
import { releaseService, serviceNameTaken } from './service.ts'
import type { PlanInput, Step } from './step.ts'

/** The end of a world's server, or of its server and its service. */
export type Drain =
  | {
      readonly isDone: true
      readonly steps: readonly []
      readonly message: string
      /** An object of another owner that has the name of the world's pod or Service. */
      readonly trouble?: Diagnosis
    }
  | {
      readonly isDone: false
      readonly steps: readonly Step[]
      readonly message: string
      /** Unknown while the server's node does not report. */
      readonly deployment: 'Stopping' | 'Unknown'
      /** The reason why the drain is blocked. */
      readonly trouble?: Diagnosis
      readonly requeueAfterMs?: number
    }

const stopping = 'Waiting for the server to stop.'

/** Plans the end of the world's server, whichever run it belongs to. A stranger's pod is not changed. */
export const drainServer = (input: PlanInput, runId: string | undefined): Drain => {
  const server = observeServer(input, runId)
  if (server.kind === 'none' || server.kind === 'stranger') {
    const taken = explainTakenName(input)
    return { isDone: true, steps: [], message: taken?.message ?? '', ...withDefined({ trouble: taken }) }
  }
  const trouble = explainBlockedEnd(server, input.nowMs)
  return {
    isDone: false,
    steps: serverDeletionSteps(server, input.settings),
    message: trouble?.message ?? stopping,
    deployment: server.node.kind === 'unreachable' ? 'Unknown' : 'Stopping',
    ...withDefined({ trouble, requeueAfterMs: nextChangeMs(server, input.nowMs) }),
  }
}

/**
 * Returns which object of another owner has the name of the world's pod or Service. Usually only the read at the end of a run shows
 * it, so the status names it until the next run.
 */
const explainTakenName = ({ world, pod, service }: PlanInput): Diagnosis | undefined => {
  const { metadata, status } = world
  const isForeign = (object: Pod | Service | undefined): boolean =>
    object !== undefined && controllerOf(object)?.uid !== metadata.uid
  if (isForeign(pod)) return podNameTaken(metadata.name)
  if (isForeign(service)) return serviceNameTaken(metadata.name)
  if (status?.deployment === undefined || !hasEnded(status.deployment)) return undefined
  const recorded = findCondition(status, 'Degraded')
  return [podNameTaken(metadata.name), serviceNameTaken(metadata.name)].find(
    ({ reason }) => reason === recorded?.reason,
  )
}

/** Plans the end of the world's server, and then of its service. */
export const drainWorld = (input: PlanInput, runId: string | undefined): Drain => {
  const server = drainServer(input, runId)
  const removal = releaseService(input)
  if (!server.isDone || removal === undefined) return server
  // The same status as that of a server that stops, so that it is not written again.
  const { message, trouble } = server
  return {
    ...removal,
    isDone: false,
    message: message || stopping,
    deployment: 'Stopping',
    ...withDefined({ trouble }),
  }
}

const knownFinalizers = [apiFinalizer, 'foregroundDeletion', 'orphan']

/** Returns the finalizers of a World that neither the product nor the garbage collector set. */
export const foreignFinalizers = ({ world }: PlanInput): string[] =>
  (world.metadata.finalizers ?? []).filter((finalizer) => !knownFinalizers.includes(finalizer))
