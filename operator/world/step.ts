import type { World, WorldRun, WorldStatus } from '#shared/resources/world.ts'
import type { Server } from './observe.ts'
import type { Pod } from './pod.ts'
import type { WorldSettings } from './settings.ts'

/** One thing to do. The executor does it as it stands and decides nothing. */
export type Step =
  | { readonly verb: 'createPod'; readonly run: WorldRun }
  | { readonly verb: 'deletePod'; readonly pod: Pod }
  | { readonly verb: 'deleteWorld' }

/** What to do, then the status to write, then when to look again if nothing happens before. */
export type Plan = {
  readonly steps: readonly Step[]
  readonly status: WorldStatus
  readonly requeueAfterMs?: number
}

/** Everything that a plan depends on; the same input gives the same plan. */
export type PlanInput = {
  readonly world: World
  /** The pod that bears the world's name in its namespace, whoever it belongs to. */
  readonly pod: Pod | undefined
  readonly settings: WorldSettings
  readonly nowMs: number
  readonly newRunId: () => string
}

/** Whether a server of this world still exists, on its way out or not. */
export const exists = (server: Server): boolean => server.kind !== 'none' && server.kind !== 'foreign'

/** Deletes the server where there is one that does not go already. */
export const removal = (server: Server): Step[] =>
  server.kind === 'older' || server.kind === 'current' ? [{ verb: 'deletePod', pod: server.pod }] : []
