import { countOf } from '#operator/lifecycle/message.ts'
import { podDeletionStep } from '#operator/pods/termination.ts'
import type { BotRun } from '#shared/resources/botDeployment.ts'
import { type InactiveWorld, observePods } from './observe.ts'
import { finishedOutcome } from './outcome.ts'
import { endRun, parseEnds } from './run.ts'
import { type Outcome, planWith } from './status.ts'
import type { Plan, PlanInput } from './step.ts'

/** Plans a bot deployment in the namespace of a deleted organization: its bots stop, paused or not. */
export const planClosed = (input: PlanInput): Plan =>
  planStop(input, {
    run: input.bots.status?.run,
    phase: 'Stopped',
    reason: 'OrganizationDeleted',
    message: 'The organization was deleted. Its bots do not run.',
  })

/** Plans a bot deployment with a deletionTimestamp: its bots stop, and the status says when none is left. */
export const planDeleted = (input: PlanInput): Plan =>
  planStop(input, {
    run: input.bots.status?.run,
    phase: 'Stopped',
    reason: 'Deleting',
    message: 'The bots are being deleted.',
    progressing: true,
  })

/** Plans a bot deployment whose world has no Active run. Bots of the world's last run end with it; others wait. */
export const planInactiveWorld = (input: PlanInput, { reason, message }: InactiveWorld): Plan => {
  const { bots, world, nowMs } = input
  const run = bots.status?.run
  return run !== undefined && run.id === world?.status?.runId
    ? planEnded(input, endRun(run, 'WorldEnded', nowMs))
    : planStop(input, { phase: 'Pending', reason, message })
}

/** The messages of a run that has ended. */
export const endMessages = {
  Expired: 'The duration of the bots is over.',
  WorldEnded: "The world's run is over. The bots start with its next run.",
} as const

/** Plans bots whose run has ended: they stop, and are not recreated in it. */
export const planEnded = (input: PlanInput, run: BotRun): Plan => {
  const message = endMessages[run.endReason ?? 'WorldEnded']
  const finished = finishedOutcome(input, parseEnds(run), input.bots.spec.count)
  return planStop(input, { run, ...(finished ?? { phase: 'Stopped', reason: run.endReason ?? 'Stopped', message }) })
}

/** Deletes all bots. The phase is Stopping until none is left. */
const planStop = (input: PlanInput, outcome: Outcome): Plan => {
  const { terminating, older, current } = observePods(input.bots, input.pods, outcome.run?.id)
  const steps = [...older.values(), ...current.values()].map((pod) => podDeletionStep(pod, 'bot', input.settings))
  const left = terminating.size + steps.length
  if (left === 0) return planWith(input, outcome)
  const message = `${outcome.message} Waiting for ${countOf(left, 'bot')} to stop.`
  return planWith(input, { ...outcome, phase: 'Stopping', message, progressing: true }, { steps })
}
