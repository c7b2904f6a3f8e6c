import type { World, WorldQueue, WorldRun, WorldStatus } from '#shared/resources/world.ts'
import type { Node } from './node.ts'
import type { Server } from './observe.ts'
import type { Pod } from './pod.ts'
import type { Service } from './service.ts'
import type { WorldSettings } from './settings.ts'

/** One thing to do. The executor does it as it stands and decides nothing. */
export type Step =
  | { readonly verb: 'createPod'; readonly run: WorldRun }
  | { readonly verb: 'deletePod'; readonly pod: Pod }
  /** For a pod whose node is dead: nobody is left who could confirm its end. */
  | { readonly verb: 'forceDeletePod'; readonly pod: Pod }
  | { readonly verb: 'createService'; readonly run: WorldRun }
  | { readonly verb: 'deleteService'; readonly service: Service }
  | { readonly verb: 'deleteWorld' }

/** What to do, then the status to write, then when to look again if nothing happens before. */
export type Plan = {
  readonly steps: readonly Step[]
  readonly status: WorldStatus
  /** The status tells of nothing but the steps: it may wait until what they made is seen and nothing more urgent waits. */
  readonly tellLater?: true
  readonly requeueAfterMs?: number
}

/** Everything that a plan depends on; the same input gives the same plan. */
export type PlanInput = {
  readonly world: World
  /** The pod that bears the world's name in its namespace, whoever it belongs to. */
  readonly pod: Pod | undefined
  /** The node that the pod is on; `gone` where it has no object any more. */
  readonly node: Node | 'gone' | undefined
  /** The service that bears the world's name. */
  readonly service: Service | undefined
  /** What this pod's server last reported to this process. */
  readonly queue: WorldQueue | undefined
  readonly settings: WorldSettings
  readonly nowMs: number
  readonly newRunId: () => string
}

/** Deletes the server where there is one that does not go already; by force where its node is known to be dead. */
export const removal = (server: Server): Step[] => {
  if (server.kind === 'none' || server.kind === 'foreign') return []
  if (server.node.kind === 'dead') return [{ verb: 'forceDeletePod', pod: server.pod }]
  return server.kind === 'terminating' ? [] : [{ verb: 'deletePod', pod: server.pod }]
}

/** The earliest of some waits, as a plan asks for it; nothing where none of them is finite. */
export const lookAgain = (...waitsMs: (number | undefined)[]): { requeueAfterMs?: number } => {
  const earliestMs = Math.min(...waitsMs.map((each) => each ?? Number.POSITIVE_INFINITY))
  return Number.isFinite(earliestMs) ? { requeueAfterMs: Math.max(0, earliestMs) } : {}
}
