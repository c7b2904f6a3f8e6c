import type { World, WorldRun } from '#shared/resources/world.ts'
import { type Drain, drain, foreignFinalizers } from './drain.ts'
import { lastRun } from './observe.ts'
import { endedInError, endRun, expiresAtMs } from './run.ts'
import { removeService } from './service.ts'
import { statusOf } from './status.ts'
import { lookAgain, type Plan, type PlanInput } from './step.ts'

/** A World that is being deleted: its server drains, and the status says when none is left. No pod is ever made. */
export const planDeletion = (input: PlanInput): Plan => {
  const { world, nowMs } = input
  const last = lastRun(input)
  const run = last && endRun(last, 'Stopped', 'the world is being deleted', nowMs)
  const draining = drain(input, run?.id)
  const status = statusOf(input, {
    ...(run ? { run } : {}),
    phase: run ? 'Stopped' : 'Inactive',
    deployment: endedStatus(world, draining, false),
    message: `the world is being deleted${deletionWaits(input, draining)}`,
    reason: draining.over ? 'Deleting' : (draining.trouble?.reason ?? 'Deleting'),
    progressing: true,
    trouble: draining.over ? undefined : draining.trouble,
  })
  return { steps: [...draining.steps, ...removeService(input)], status, ...againAfter(draining) }
}

const deletionWaits = (input: PlanInput, draining: Drain): string => {
  if (!draining.over) return `: ${draining.message}`
  const holders = foreignFinalizers(input)
  if (holders.length === 0) return ''
  return `: no server is left, and the finalizer ${holders.join(', ')} is to be removed by whoever set it`
}

/** A World whose spec asks for Stopped: Stopped at once, while its server drains; Inactive if it never ran. */
export const planStopped = (input: PlanInput): Plan => {
  const run = lastRun(input)
  if (run !== undefined) return planEnded(input, endRun(run, 'Stopped', '', input.nowMs))
  const steps = [...drain(input, undefined).steps, ...removeService(input)]
  return { steps, status: statusOf(input, { phase: 'Inactive', reason: 'NeverStarted', message: '' }) }
}

/** A run that is over: its server goes, and a transient world goes after it once its duration is over too. */
export const planEnded = (input: PlanInput, run: WorldRun): Plan => {
  const { world, nowMs } = input
  const draining = drain(input, run.id)
  const leftMs = expiresAtMs(world, run) - nowMs
  const failed = endedInError(run) && leftMs > 0 && world.status?.phase !== 'Stopped'
  const failure = { reason: run.failure?.reason ?? run.endReason ?? 'Error', message: run.endMessage ?? '' }
  const status = statusOf(input, {
    run,
    phase: failed ? 'Error' : 'Stopped',
    deployment: endedStatus(world, draining, endedInError(run)),
    message: endedMessage(world, run, draining),
    reason: run.endReason ?? 'Stopped',
    progressing: !draining.over,
    trouble: failed ? failure : draining.over ? undefined : draining.trouble,
  })
  const over = world.spec.transient && leftMs <= 0 && draining.over
  // Only a spec that the status already speaks of may end in deletion: an extension that arrives now wins.
  const settled = world.status?.observedGeneration === world.metadata.generation
  if (over) return settled ? { steps: [{ verb: 'deleteWorld' }], status } : { steps: [], status, requeueAfterMs: 0 }
  const steps = [...draining.steps, ...removeService(input)]
  return { steps, status, ...againAfter(draining, leftMs > 0 ? leftMs : undefined) }
}

const againAfter = (draining: Drain, leftMs?: number): { requeueAfterMs?: number } =>
  lookAgain(leftMs, draining.over ? undefined : draining.againMs)

const endedStatus = (world: World, draining: Drain, failed: boolean): 'Stopping' | 'Unknown' | 'Stopped' | 'Error' => {
  if (!draining.over) return draining.deployment
  return failed || world.status?.deployment?.status === 'Error' ? 'Error' : 'Stopped'
}

const endedMessage = (world: World, run: WorldRun, draining: Drain): string => {
  // Only the API gives runs to its own worlds; until it has adopted an edit of the state, the world says so.
  const revived = world.spec.state === 'Running' && run.endReason === 'Stopped'
  if (revived) return 'waiting for the API to give the next run its id'
  return [run.endMessage, draining.message].filter(Boolean).join('; ')
}
