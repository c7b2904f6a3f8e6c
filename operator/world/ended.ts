import type { World, WorldRun } from '#shared/resources/world.ts'
import { observeServer } from './observe.ts'
import { endedInError, endRun, expiresAtMs } from './run.ts'
import { statusOf } from './status.ts'
import { exists, type Plan, type PlanInput, removal } from './step.ts'

/** A World that is being deleted: its server drains, and the status says when none is left. No pod is ever made. */
export const planDeletion = (input: PlanInput): Plan => {
  const { world, pod, nowMs } = input
  const run = world.status?.run && endRun(world.status.run, 'Stopped', 'the world is being deleted', nowMs)
  const server = observeServer(world, pod, run?.id)
  const draining = exists(server)
  const status = statusOf(input, {
    ...(run ? { run } : {}),
    phase: run ? 'Stopped' : 'Inactive',
    deployment: endedStatus(world, draining, false),
    message: draining ? 'the world is being deleted: waiting for its server to stop' : 'the world is being deleted',
    reason: 'Deleting',
    progressing: true,
  })
  return { steps: removal(server), status }
}

/** A World whose spec asks for Stopped: Stopped at once, while its server drains; Inactive if it never ran. */
export const planStopped = (input: PlanInput): Plan => {
  const { world, pod, nowMs } = input
  const run = world.status?.run
  if (run !== undefined) return planEnded(input, endRun(run, 'Stopped', '', nowMs))
  const steps = removal(observeServer(world, pod, undefined))
  return { steps, status: statusOf(input, { phase: 'Inactive', reason: 'NeverStarted', message: '' }) }
}

/** A run that is over: its server goes, and a transient world goes after it once its duration is over too. */
export const planEnded = (input: PlanInput, run: WorldRun): Plan => {
  const { world, pod, nowMs } = input
  const server = observeServer(world, pod, run.id)
  const draining = exists(server)
  const leftMs = expiresAtMs(world, run) - nowMs
  const failed = endedInError(run) && leftMs > 0 && world.status?.phase !== 'Stopped'
  const status = statusOf(input, {
    run,
    phase: failed ? 'Error' : 'Stopped',
    deployment: endedStatus(world, draining, endedInError(run)),
    message: endedMessage(world, run, draining),
    reason: run.endReason ?? 'Stopped',
    progressing: draining,
    degraded: failed,
  })
  // Only a spec that the status already speaks of may end in deletion: an extension that arrives now wins.
  const settled = !draining && world.status?.observedGeneration === world.metadata.generation
  if (world.spec.transient && leftMs <= 0 && settled) return { steps: [{ verb: 'deleteWorld' }], status }
  const waits = Number.isFinite(leftMs) && leftMs > 0
  return { steps: removal(server), status, ...(waits ? { requeueAfterMs: leftMs } : {}) }
}

const endedStatus = (world: World, draining: boolean, failed: boolean): 'Stopping' | 'Stopped' | 'Error' => {
  if (draining) return 'Stopping'
  return failed || world.status?.deployment?.status === 'Error' ? 'Error' : 'Stopped'
}

const endedMessage = (world: World, run: WorldRun, draining: boolean): string => {
  // Only the API gives runs to its own worlds; until it has adopted an edit of the state, the world says so.
  const revived = world.spec.state === 'Running' && run.endReason === 'Stopped'
  if (revived) return 'waiting for the API to give the next run its id'
  return [run.endMessage, draining ? 'waiting for the server to stop' : ''].filter(Boolean).join('; ')
}
