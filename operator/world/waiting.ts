import { expiresAtMs } from '#operator/lifecycle/duration.ts'
import { explainInvalidPolicy, forbiddenRetryMs } from '#operator/lifecycle/forbidden.ts'
import { joinSentences } from '#operator/lifecycle/message.ts'
import { requeueAfter } from '#operator/lifecycle/plan.ts'
import { type Diagnosis, seriousDiagnosis } from '#operator/pods/diagnosis.ts'
import { explainRunLimit, type RunUse, useOfRun } from '#shared/domain/runUse.ts'
import { withDefined } from '#shared/optional.ts'
import type { WorldRun } from '#shared/resources/world.ts'
import { drainServer } from './drain.ts'
import { endedDeployment } from './ended.ts'
import { observeRun } from './observe.ts'
import { endRun, hasEndedInError } from './run.ts'
import { serviceDeletionSteps } from './service.ts'
import { planWith, recordRunFirst } from './status.ts'
import type { Plan, PlanInput } from './step.ts'

/** Returns what a run uses of the limits of its namespace. */
export const useOf = ({ profile, strategy }: WorldRun, { settings }: Pick<PlanInput, 'settings'>): RunUse =>
  useOfRun(settings.profiles[profile].capacity, strategy)

/** Returns why a run must not begin now, or undefined if there is room for it beside the other worlds of the namespace. */
export const explainNoRoom = (input: PlanInput, run: WorldRun): Diagnosis | undefined => {
  const { policy, others } = input
  if (policy.limits === undefined) return explainInvalidPolicy(policy)
  const refusal = explainRunLimit(useOf(run, input), others, policy.limits)
  if (refusal === undefined) return undefined
  const reason = refusal.limit === 'maxRunningCapacity' ? 'RunningCapacityExceeded' : 'LimitReached'
  return seriousDiagnosis(reason, `${refusal.message} The start is tried again when there is room.`)
}

/**
 * Plans a World whose run does not begin yet. Nothing of the run is recorded: the phase and the run stay those of the last
 * run, whose server drains. No deadline counts but the duration of the run, if the spec says when it starts.
 */
export const planWaiting = (input: PlanInput, run: WorldRun, why: Diagnosis): Plan => {
  const { world, nowMs } = input
  const observed = observeRun(input)
  const last = observed?.endReason === undefined ? observed && endRun(observed, 'Stopped', '', nowMs) : observed
  const drain = drainServer(input, last?.id)
  const planned = planWith(
    input,
    {
      ...withDefined({ run: last }),
      phase: last === undefined ? 'Inactive' : world.status?.phase === 'Error' ? 'Error' : 'Stopped',
      deployment: endedDeployment(world, drain, last !== undefined && hasEndedInError(last)),
      message: joinSentences(why.message, drain.message),
      reason: why.reason,
      progressing: true,
      trouble: why,
    },
    {
      steps: [...drain.steps, ...serviceDeletionSteps(input)],
      ...requeueAfter(
        forbiddenRetryMs,
        drain.isDone ? undefined : drain.requeueAfterMs,
        expiresAtMs(world.spec.durationMinutes, run.startedAt) - nowMs,
      ),
    },
  )
  return recordRunFirst(input, planned)
}
