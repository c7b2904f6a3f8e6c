import { expiresAtMs } from '#operator/lifecycle/duration.ts'
import { joinSentences } from '#operator/lifecycle/message.ts'
import { requeueAfter } from '#operator/lifecycle/plan.ts'
import { hasFailed, lastRunIn } from '#shared/domain/phases.ts'
import { withDefined } from '#shared/optional.ts'
import type { World, WorldRun } from '#shared/resources/world.ts'
import { type Drain, drainWorld, foreignFinalizers } from './drain.ts'
import { observeRun } from './observe.ts'
import { captureRun, endRun, hasEndedInError, isDismissed, stopRun } from './run.ts'
import { planWith, recordRunFirst } from './status.ts'
import type { Plan, PlanInput } from './step.ts'

/** Plans a World with a deletionTimestamp: its server drains, and the status shows when no server and no service is left. */
export const planDeleted = (input: PlanInput): Plan => {
  const { world, nowMs } = input
  const drain = drainWorld(input, undefined)
  const last = lastRun(input, drain)
  const run = last && endRun(last, 'Stopped', 'The world is being deleted.', nowMs)
  const { trouble } = drain
  const planned = planWith(
    input,
    {
      ...withDefined({ run }),
      phase: run ? 'Stopped' : 'Inactive',
      deployment: endedDeployment(world, drain, false),
      message: joinSentences('The world is being deleted.', drain.message || explainFinalizers(input)),
      reason: trouble?.reason ?? 'Deleting',
      progressing: true,
      trouble,
    },
    { steps: drain.steps, ...requeueDrain(drain) },
  )
  return recordRunFirst(input, planned)
}

const explainFinalizers = (input: PlanInput): string => {
  const finalizers = foreignFinalizers(input)
  if (finalizers.length === 0) return ''
  return `No server is left. The owner of finalizer ${finalizers.join(', ')} must remove it.`
}

/** The reason to stop a World that no user has stopped. */
type StopCause = { readonly reason: string; readonly message: string }

/** Plans a World that is stopped. The phase is Stopped at once, while the server drains. */
export const planStopped = (input: PlanInput, cause?: StopCause): Plan => {
  const drain = drainWorld(input, undefined)
  const run = lastRun(input, drain)
  if (run !== undefined) {
    return planEnded(input, stopRun(run, cause?.message ?? '', input.nowMs), withDefined({ cause }))
  }
  const outcome = { phase: 'Inactive', ...(cause ?? { reason: 'NeverStarted', message: '' }) } as const
  return planWith(input, outcome, { steps: drain.steps, ...requeueDrain(drain) })
}

/** Returns the last run. The deployment of a new one is recorded only after the previous run's server is gone. */
const lastRun = (input: PlanInput, drain: Drain): WorldRun | undefined =>
  (drain.isDone ? unrecordedRun(input) : undefined) ?? observeRun(input)

/**
 * Returns the run of the spec if it is not recorded yet, so that a run that was stopped before its pod has a deployment. In the
 * namespace of an organization the API must have written the spec: otherwise the id may be that of any run.
 */
const unrecordedRun = (input: PlanInput): WorldRun | undefined => {
  const { spec, status } = input.world
  if (input.policy.organization !== undefined && spec.revision === undefined) return undefined
  return spec.runId === undefined || spec.runId === status?.run?.id ? undefined : captureRun(input, spec.runId)
}

/** Plans a run that has ended: its server drains, and a transient world is deleted after its duration. */
export const planEnded = (
  input: PlanInput,
  run: WorldRun,
  { detail, cause }: { readonly detail?: string; readonly cause?: StopCause } = {},
): Plan => {
  const { world, nowMs } = input
  const drain = drainWorld(input, run.id)
  const leftMs = expiresAtMs(world.spec.durationMinutes, run.startedAt) - nowMs
  const isFailed = hasEndedInError(run) && run.dismissed !== true
  const isError = isFailed && leftMs > 0 && lastRunIn[world.status?.phase ?? 'Inactive'] !== 'ended'
  const failure = { reason: run.failure?.reason ?? run.endReason ?? 'Error', message: run.endMessage ?? '' }
  const { reason, message } = cause ?? explainEnd(world, run)
  const outcome = {
    run,
    phase: isError ? 'Error' : 'Stopped',
    deployment: endedDeployment(world, drain, hasEndedInError(run)),
    message: joinSentences(message, drain.message),
    reason,
    progressing: !drain.isDone,
    trouble: isError ? { ...failure, ...(detail && { detail }) } : drain.trouble,
  } as const
  if (world.spec.transient && leftMs <= 0 && drain.isDone) return planTransientDeletion(input, outcome)
  const planned = planWith(input, outcome, {
    steps: drain.steps,
    ...requeueDrain(drain, leftMs > 0 ? leftMs : undefined),
  })
  return recordRunFirst(input, planned)
}

/** Deletes the World only if the status shows its current spec, so that an extension that arrives now has an effect. */
const planTransientDeletion = (input: PlanInput, outcome: Parameters<typeof planWith>[1]): Plan =>
  input.world.status?.observedGeneration === input.world.metadata.generation
    ? planWith(input, outcome, { steps: [{ verb: 'deleteWorld' }] })
    : planWith(input, outcome, { requeueAfterMs: 0 })

const requeueDrain = (drain: Drain, leftMs?: number): { requeueAfterMs?: number } =>
  requeueAfter(leftMs, drain.isDone ? undefined : drain.requeueAfterMs)

/** Returns the status of the deployment of a run that has ended. */
export const endedDeployment = (
  world: World,
  drain: Drain,
  failed: boolean,
): 'Stopping' | 'Unknown' | 'Stopped' | 'Error' => {
  if (!drain.isDone) return drain.deployment
  const last = world.status?.deployment
  return failed || (last !== undefined && hasFailed(last)) ? 'Error' : 'Stopped'
}

const explainEnd = ({ spec }: World, run: WorldRun): StopCause => {
  const reason = run.endReason ?? 'Stopped'
  // The spec names an ended run. Only the owner of the run ids can name the next one.
  if (spec.state === 'Running' && isDismissed(run)) {
    return { reason: 'WaitingForApi', message: 'Waiting for the API to assign the id of the next run.' }
  }
  const isResolved = run.dismissed === true && hasEndedInError(run)
  return isResolved ? { reason: 'Stopped', message: '' } : { reason, message: run.endMessage ?? '' }
}
