import type { Diagnosis } from '#operator/refusal.ts'
import { apiFinalizer } from '#shared/resources/group.ts'
import { observeServer, type Server, stuckAtMs } from './observe.ts'
import { type PlanInput, removal, type Step } from './step.ts'

/** How a server that is to go goes. */
export type Drain =
  | { readonly over: true; readonly steps: readonly []; readonly message: '' }
  | {
      readonly over: false
      readonly steps: readonly Step[]
      readonly message: string
      /** Unknown while nothing is heard of its node. */
      readonly deployment: 'Stopping' | 'Unknown'
      /** What holds the server, where somebody should look. */
      readonly trouble?: Diagnosis
      /** When to look again, in milliseconds. */
      readonly againMs?: number
    }

/** Plans the end of whatever server there is, and says what is waited for. */
export const drain = (input: PlanInput, runId: string | undefined): Drain => {
  const server = observeServer(input, runId)
  if (server.kind === 'none' || server.kind === 'foreign') return { over: true, steps: [], message: '' }
  const held = holdUp(server, input.nowMs)
  const againMs = againMsOf(server, input.nowMs)
  return {
    over: false,
    steps: removal(server),
    message: held?.message ?? 'waiting for the server to stop',
    deployment: server.node.kind === 'unseen' ? 'Unknown' : 'Stopping',
    ...(held === undefined ? {} : { trouble: held }),
    ...(againMs === undefined ? {} : { againMs }),
  }
}

type Owned = Exclude<Server, { kind: 'none' } | { kind: 'foreign' }>

/** What keeps a server from going: its node, or somebody who holds the pod beyond its grace. */
export const holdUp = ({ kind, pod, node }: Owned, nowMs: number): Diagnosis | undefined => {
  if (node.kind === 'dead') {
    return { reason: 'NodeLost', message: `the server is removed by force, since ${node.why}`, serious: true }
  }
  if (node.kind === 'unseen') return unseen(node)
  if (kind !== 'terminating' || nowMs < stuckAtMs(pod)) return undefined
  const finalizers = pod.metadata.finalizers ?? []
  const why =
    finalizers.length > 0
      ? `its pod is held by the finalizer ${finalizers.join(', ')}, which is to be removed by whoever set it`
      : `the node ${pod.spec?.nodeName ?? 'of its pod'} has not confirmed its end`
  return {
    reason: 'TerminationStuck',
    message: `the server should have stopped at ${pod.metadata.deletionTimestamp ?? ''}: ${why}`,
    serious: true,
  }
}

/** The sentence for a server whose node cannot be seen. */
export const unseen = ({ name, since }: { name: string; since: string }): Diagnosis => ({
  reason: 'NodeUnreachable',
  message:
    `nothing is heard of the node ${name} since ${since}, so the server there may still run: ` +
    'waiting for the node to come back, or to be deleted or marked as out of service',
  serious: true,
})

/** When the state of a server changes by time alone, in milliseconds from now. */
export const againMsOf = ({ kind, pod, node }: Owned, nowMs: number): number | undefined => {
  if (node.kind === 'unseen') return node.forceAtMs === undefined ? undefined : node.forceAtMs - nowMs
  const stuckMs = kind === 'terminating' ? stuckAtMs(pod) - nowMs : Number.POSITIVE_INFINITY
  return Number.isFinite(stuckMs) && stuckMs > 0 ? stuckMs : undefined
}

/** Who beside the product holds a World that is being deleted; empty where nobody does. */
export const foreignFinalizers = (input: PlanInput): string[] =>
  (input.world.metadata.finalizers ?? []).filter(
    (each) => each !== apiFinalizer && each !== 'foregroundDeletion' && each !== 'orphan',
  )
