import type { BotRun } from '#shared/resources/botDeployment.ts'
import { type Host, observePods } from './observe.ts'
import { endRun, type Memory, memoryOf, openIndexes } from './run.ts'
import { type Outlook, statusOf } from './status.ts'
import type { Plan, PlanInput, Step } from './step.ts'

/** A deployment that is being deleted: its bots stop, and the status says when none is left. No pod is ever made. */
export const planDeletion = (input: PlanInput): Plan =>
  planStop(input, {
    run: input.bots.status?.run,
    phase: 'Stopped',
    reason: 'Deleting',
    message: 'the bots are being deleted',
    progressing: true,
  })

/**
 * The world has no run that is Active. Bots that were in its last one are over with it; for all others it is awaited, and
 * what was remembered of an earlier run is forgotten.
 */
export const planWithoutWorld = (input: PlanInput, { reason, message }: Host & { readonly active: false }): Plan => {
  const { bots, world, nowMs } = input
  const run = bots.status?.run
  const wasIn = run !== undefined && run.id === world?.status?.runId
  return wasIn
    ? planEnded(input, endRun(run, 'WorldEnded', nowMs))
    : planStop(input, { phase: 'Pending', reason, message })
}

/** The bots of a run are over, and are not made again in it. */
export const planEnded = (input: PlanInput, run: BotRun): Plan => {
  const expired = run.endReason === 'Expired'
  const message = expired
    ? 'the duration of the bots is over'
    : "the world's run is over: the bots start with its next one"
  const before = overOutlook(input, memoryOf(run), input.bots.spec.count)
  return planStop(input, { run, ...(before ?? { phase: 'Stopped', reason: run.endReason ?? 'Stopped', message }) })
}

/** What is to be said once every bot ended by itself or was given up; undefined while one is left, or none was wanted. */
export const overOutlook = (
  { settings }: PlanInput,
  memory: Memory,
  allowed: number,
): Pick<Outlook, 'phase' | 'message' | 'reason' | 'trouble'> | undefined => {
  const { failed, failure } = memory
  if (allowed === 0 || openIndexes(memory, allowed).length > 0) return undefined
  if (failed.size === 0) return { phase: 'Stopped', reason: 'Completed', message: 'all bots ended by themselves' }
  const message = tellGivenUp(failed.size, settings.restartBudget, failure)
  return { phase: 'Error', reason: 'RestartBudget', message, trouble: { reason: 'RestartBudget', message } }
}

/** How bots that failed too often are told of. */
export const tellGivenUp = (count: number, budget: number, failure: string | undefined): string =>
  `${count} bot${count === 1 ? '' : 's'} failed more often than ${budget} restarts allow; ${failure ?? ''}`

/** All bots stop; the phase is Stopping until none is left. */
const planStop = (input: PlanInput, over: Outlook): Plan => {
  const { leaving, older, current } = observePods(input.bots, input.pods, over.run?.id)
  const steps = [...older.values(), ...current.values()].map((pod): Step => ({ verb: 'deletePod', pod }))
  const left = leaving.size + steps.length
  if (left === 0) return { steps, status: statusOf(input, over) }
  const message = `${over.message}: waiting for ${left} bot${left === 1 ? '' : 's'} to stop`
  return { steps, status: statusOf(input, { ...over, phase: 'Stopping', message, progressing: true }) }
}
