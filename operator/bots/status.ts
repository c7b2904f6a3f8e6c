import { maxMessageLength, updateConditions, type Verdict } from '#operator/lifecycle/conditions.ts'
import { type Actions, buildPlan } from '#operator/lifecycle/plan.ts'
import type { Diagnosis } from '#operator/pods/diagnosis.ts'
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
  /** The limit of the organization for all bots that this bot deployment exceeds. */
  readonly limit?: Pick<Diagnosis, 'reason' | 'message'> | undefined
}

/** Returns a plan with the status of that outcome. */
export const planWith = (input: PlanInput, outcome: Outcome, actions?: Actions<Step>): Plan =>
  buildPlan(statusOf(input, outcome), outcome, actions)

/** Returns the operator's whole status. An unchanged bot deployment gives an equal status. */
const statusOf = ({ bots, pods, siblings, world, nowMs }: PlanInput, outcome: Outcome): BotDeploymentStatus => {
  const { run, phase, message, readyCount = 0 } = outcome
  const observedGeneration = bots.metadata.generation ?? 0
  const limit = limitState(shareOf(bots, siblings, world), outcome.limit)
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

const limitState = ({ excess }: Share, limit: Outcome['limit']) => {
  const exceeded = excess === undefined ? limit : { reason: 'MaxBotsPerWorld', message: excess }
  const { reason, message } = exceeded ?? { reason: 'WithinLimits', message: '' }
  return { type: 'LimitExceeded', holds: exceeded !== undefined, reason, message }
}
