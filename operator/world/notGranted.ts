import { joinSentences } from '#operator/lifecycle/message.ts'
import { requeueAfter } from '#operator/lifecycle/plan.ts'
import { withDefined } from '#shared/optional.ts'
import type { World } from '#shared/resources/world.ts'
import { drainWorld } from './drain.ts'
import { endedDeployment } from './ended.ts'
import { explainMissingGrant } from './grant.ts'
import { observeRun } from './observe.ts'
import { endRun, hasEndedInError } from './run.ts'
import { planWith, recordRunFirst } from './status.ts'
import type { Plan, PlanInput } from './step.ts'

/** The reason of a World that should run, and whose run the API has not granted. */
export const waitingForApi = 'WaitingForApi'

/** The age of a World until which its wait is not written to the status. The grant needs its uid, so it arrives a moment later. */
const quietMs = 2_000

/**
 * Plans a World that should run while no run may begin. Nothing of a new run is recorded: the phase and the run stay those of the
 * last run, whose server drains.
 */
export const planNotGranted = (input: PlanInput): Plan => {
  const { world, policy, nowMs } = input
  const observed = observeRun(input)
  const last = observed && endRun(observed, 'Stopped', '', nowMs)
  const drain = drainWorld(input, last?.id)
  const planned = planWith(
    input,
    {
      ...withDefined({ run: last }),
      phase: last === undefined ? 'Inactive' : world.status?.phase === 'Error' ? 'Error' : 'Stopped',
      deployment: endedDeployment(world, drain, last !== undefined && hasEndedInError(last)),
      message: joinSentences(explainMissingGrant(world, policy), drain.message),
      reason: waitingForApi,
      progressing: true,
      trouble: drain.trouble,
    },
    {
      steps: drain.steps,
      ...requeueAfter(drain.isDone ? undefined : drain.requeueAfterMs),
    },
  )
  const quietLeftMs = quietMs - ageMs(world, nowMs)
  return world.status?.phase === undefined && planned.steps.length === 0 && quietLeftMs > 0
    ? { ...planned, deferStatus: true, requeueAfterMs: quietLeftMs }
    : recordRunFirst(input, planned)
}

/** NaN for a World without a creationTimestamp. */
const ageMs = ({ metadata }: World, nowMs: number): number => nowMs - Date.parse(metadata.creationTimestamp ?? '')
