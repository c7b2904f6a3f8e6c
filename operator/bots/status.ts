import { maxMessageLength, updateConditions, type Verdict } from '#operator/lifecycle/conditions.ts'
import { type Actions, buildPlan } from '#operator/lifecycle/plan.ts'
import { doBotsWait } from '#shared/domain/phases.ts'
import type { BotPhase } from '#shared/enumerations.ts'
import { withDefined } from '#shared/optional.ts'
import type { BotDeploymentStatus, BotRun } from '#shared/resources/botDeployment.ts'
import { botSelectorOf } from '#shared/resources/selectors.ts'
import { type Share, shareOf } from './limit.ts'
import { countBots, observePods } from './observe.ts'
import type { Plan, PlanInput, Step } from './step.ts'

/** The conclusion of one reconcile. The rest of the status follows from it and from the bot deployment. */
export type Outcome = Verdict & {
  readonly run?: BotRun | undefined
  readonly phase: BotPhase
  readonly readyCount?: number
}

/** Returns a plan with the status of that outcome. */
export const planWith = (input: PlanInput, outcome: Outcome, actions?: Actions<Step>): Plan =>
  buildPlan(statusOf(input, outcome), outcome, actions)

/** Returns the operator's whole status. An unchanged bot deployment gives an equal status. */
const statusOf = (input: PlanInput, outcome: Outcome): BotDeploymentStatus => {
  const { bots, pods, nowMs } = input
  const { run, phase, message, readyCount = 0 } = outcome
  const observedGeneration = bots.metadata.generation ?? 0
  const limit = limitState(shareOf(input))
  return {
    phase,
    observedGeneration,
    replicas: countBots(observePods(bots, pods, run?.id)),
    ready: readyCount,
    selector: botSelectorOf(bots.metadata.name),
    ...withDefined({
      message: message.slice(0, maxMessageLength) || undefined,
      startedAt: doBotsWait({ phase }) ? undefined : run?.startedAt,
      observedRevision: bots.spec.revision,
      run,
    }),
    conditions: updateConditions(bots.status?.conditions, outcome, { observedGeneration, nowMs }, [limit]),
  }
}

const limitState = ({ excess }: Share) => ({
  type: 'LimitExceeded',
  holds: excess !== undefined,
  reason: excess === undefined ? 'WithinLimits' : 'MaxBotsPerWorld',
  message: excess ?? '',
})
