import type { Diagnosis } from '#operator/pods/diagnosis.ts'
import { explainBlockedEnd, nextChangeMs } from '#operator/pods/termination.ts'
import { withDefined } from '#shared/optional.ts'
import { apiFinalizer } from '#shared/resources/group.ts'
import { observeServer, serverDeletionSteps } from './observe.ts'
import { releaseService } from './service.ts'
import type { PlanInput, Step } from './step.ts'

/** The end of a world's server, or of its server and its service. */
export type Drain =
  | { readonly isDone: true; readonly steps: readonly []; readonly message: '' }
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
  if (server.kind === 'none' || server.kind === 'stranger') return { isDone: true, steps: [], message: '' }
  const trouble = explainBlockedEnd(server, input.nowMs)
  return {
    isDone: false,
    steps: serverDeletionSteps(server, input.settings),
    message: trouble?.message ?? stopping,
    deployment: server.node.kind === 'unreachable' ? 'Unknown' : 'Stopping',
    ...withDefined({ trouble, requeueAfterMs: nextChangeMs(server, input.nowMs) }),
  }
}

/** Plans the end of the world's server, and then of its service. */
export const drainWorld = (input: PlanInput, runId: string | undefined): Drain => {
  const server = drainServer(input, runId)
  const removal = releaseService(input)
  if (!server.isDone || removal === undefined) return server
  // The same status as that of a server that stops, so that it is not written again.
  return { ...removal, isDone: false, message: stopping, deployment: 'Stopping' }
}

const knownFinalizers = [apiFinalizer, 'foregroundDeletion', 'orphan']

/** Returns the finalizers of a World that neither the product nor the garbage collector set. */
export const foreignFinalizers = ({ world }: PlanInput): string[] =>
  (world.metadata.finalizers ?? []).filter((finalizer) => !knownFinalizers.includes(finalizer))
