import type { BotDeployment, BotDeploymentStatus } from '#shared/resources/botDeployment.ts'
import type { World } from '#shared/resources/world.ts'
import type { Bot, BotPod } from './pod.ts'
import type { BotSettings } from './settings.ts'

/** One thing to do. The executor does it as it stands and decides nothing. */
export type Step =
  | { readonly verb: 'createPod'; readonly bot: Bot }
  | { readonly verb: 'deletePod'; readonly pod: BotPod }

/** What to do, then the status to write, then when to look again if nothing happens before. */
export type Plan = {
  readonly steps: readonly Step[]
  readonly status: BotDeploymentStatus
  readonly requeueAfterMs?: number
}

/** Everything that a plan depends on; the same input gives the same plan. */
export type PlanInput = {
  readonly bots: BotDeployment
  /** The World of that name in the same namespace. */
  readonly world: World | undefined
  /** All deployments of that world. */
  readonly siblings: readonly BotDeployment[]
  /** The pods that bear the deployment's label in its namespace, whoever they belong to. */
  readonly pods: readonly BotPod[]
  readonly settings: BotSettings
  readonly nowMs: number
}

/** The most pods that one plan makes, and the most that it deletes; the next plan goes on. */
export const burst = 500
/** How soon the next plan goes on: the cache has seen the deletions by then. */
export const burstPauseMs = 200

/** The plan with no more steps of a kind than a burst. */
export const inBursts = (plan: Plan): Plan => {
  const deletions = plan.steps.filter(({ verb }) => verb === 'deletePod')
  const creations = plan.steps.filter(({ verb }) => verb === 'createPod')
  if (deletions.length <= burst && creations.length <= burst) return plan
  return {
    ...plan,
    steps: [...deletions.slice(0, burst), ...creations.slice(0, burst)],
    requeueAfterMs: Math.min(burstPauseMs, plan.requeueAfterMs ?? burstPauseMs),
  }
}
