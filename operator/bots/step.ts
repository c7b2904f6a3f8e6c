import type { PlanOf } from '#operator/lifecycle/plan.ts'
import type { LabelPatch } from '#operator/pods/labels.ts'
import type { Pod } from '#operator/pods/pod.ts'
import type { DeletePod } from '#operator/pods/termination.ts'
import type { BotDeployment, BotDeploymentStatus } from '#shared/resources/botDeployment.ts'
import type { NamespacePolicy } from '#shared/resources/namespacePolicy.ts'
import type { World } from '#shared/resources/world.ts'
import type { Bot } from './pod.ts'
import type { BotSettings } from './settings.ts'

/** A write to the cluster. The executor decides nothing. */
export type Step =
  | { readonly verb: 'createPod'; readonly bot: Bot }
  | DeletePod
  /** Puts back the labels by which the product selects the pod. */
  | { readonly verb: 'repairPod'; readonly pod: Pod; readonly patch: LabelPatch }

/** The result of planning a BotDeployment. */
export type Plan = PlanOf<Step, BotDeploymentStatus>

/** Everything that a plan depends on. The same input gives the same plan. */
export type PlanInput = {
  readonly bots: BotDeployment
  /** The World that the bot deployment names, in its namespace. */
  readonly world: World | undefined
  /** The address of the pod of the world's server. */
  readonly serverIp: string | undefined
  /** All bot deployments of that world, this one included. */
  readonly siblings: readonly BotDeployment[]
  /** The pods with the bot deployment's label in its namespace, strangers included. */
  readonly pods: readonly Pod[]
  readonly policy: NamespacePolicy
  readonly settings: BotSettings
  readonly nowMs: number
}

/** The maximum number of creations, of deletions and of repairs in one plan. The next plan continues. */
export const maxBurst = 500
/** The delay before the next plan, in which the cache receives the deletions. */
export const burstPauseMs = 200

/** Returns the plan with at most `maxBurst` steps of each kind. */
export const limitSteps = (plan: Plan): Plan => {
  const verbs = ['repairPod', 'deletePod', 'createPod'] as const
  const steps = verbs.flatMap((wanted) => plan.steps.filter(({ verb }) => verb === wanted).slice(0, maxBurst))
  if (steps.length === plan.steps.length) return plan
  return {
    ...plan,
    steps,
    requeueAfterMs: Math.min(burstPauseMs, plan.requeueAfterMs ?? burstPauseMs),
  }
}
