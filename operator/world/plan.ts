import type { WorldRun } from '#shared/resources/world.ts'
import { planDeletion, planEnded, planStopped } from './ended.ts'
import { explain, needsAttention, observeServer, readySince, type Server, wasDisrupted } from './observe.ts'
import type { Pod } from './pod.ts'
import { countFailure, endRun, expiresAtMs, freezeRun, nextPodAtMs, toInstant, wantedRunId } from './run.ts'
import { type Outlook, statusOf } from './status.ts'
import { exists, type Plan, type PlanInput, removal } from './step.ts'

/** How long the first steps of a pod go unreported. */
const patientMs = 3_000
const makingServer = 'waiting for the server to become ready'

/**
 * Plans one reconcile of a World. What must not be lost is recorded before it is acted on: a run is frozen in the status
 * before its first pod is made, and a failure or an end is in the status before the pod that shows it is deleted.
 */
export const plan = (input: PlanInput): Plan => {
  const { world } = input
  if (world.metadata.deletionTimestamp !== undefined) return planDeletion(input)
  if (world.spec.state === 'Stopped') return planStopped(input)
  const wanted = wantedRunId(world, input.newRunId)
  const run = world.status?.run
  if (run?.id !== wanted) return planNewRun(input, wanted)
  return run.endReason === undefined ? planRun(input, run) : planEnded(input, run)
}

/** The wanted run is not the frozen one: older servers stop first, then the run is frozen. */
const planNewRun = (input: PlanInput, runId: string): Plan => {
  const { world, pod, settings, nowMs } = input
  const server = observeServer(world, pod, runId)
  if (exists(server) && server.kind !== 'current') {
    const status = statusOf(input, {
      ...(world.status?.run ? { run: world.status.run } : {}),
      runId,
      phase: 'Starting',
      deployment: 'Stopping',
      message: 'waiting for the server of the previous run to stop',
      reason: 'PreviousRun',
      progressing: true,
    })
    return { steps: removal(server), status }
  }
  const run = freezeRun(world, runId, settings, nowMs)
  const status = statusOf(input, waiting(run, makingServer))
  const last = world.status?.deployment
  if (last === undefined) return { steps: [], status, requeueAfterMs: 0 }
  const previousDeployment = { ...last, status: last.status === 'Error' ? ('Error' as const) : ('Stopped' as const) }
  return { steps: [], status: { ...status, previousDeployment }, requeueAfterMs: 0 }
}

/** The frozen run is wanted and not over: deadlines first, then the server. */
const planRun = (input: PlanInput, run: WorldRun): Plan => {
  const { world, pod, settings, nowMs } = input
  const expiresMs = expiresAtMs(world, run)
  if (nowMs >= expiresMs) return planEnded(input, endRun(run, 'Expired', 'the duration of the run is over', nowMs))
  const deadlineMs =
    run.readyAt === undefined ? Date.parse(run.startedAt) + settings.startDeadlineMs : Number.POSITIVE_INFINITY
  if (nowMs >= deadlineMs) {
    const why = pod === undefined ? '' : `: ${explain(pod)}`
    return planEnded(input, endRun(run, 'StartDeadline', `the server was not ready in time${why}`, nowMs))
  }
  const planned = planServer(input, run, observeServer(world, pod, run.id))
  const lookAgainMs = Math.min(expiresMs - nowMs, deadlineMs - nowMs, planned.requeueAfterMs ?? Infinity)
  return Number.isFinite(lookAgainMs) ? { ...planned, requeueAfterMs: lookAgainMs } : planned
}

const planServer = (input: PlanInput, run: WorldRun, server: Server): Plan => {
  const wait = (message: string, also: Partial<Outlook> = {}): Plan => ({
    steps: [],
    status: statusOf(input, { ...waiting(run, message), ...also }),
  })
  switch (server.kind) {
    case 'none': {
      const waitMs = nextPodAtMs(run, input.settings) - input.nowMs
      const failed = run.failedAt !== undefined
      if (waitMs > 0) return { ...wait('waiting to restart the server after a failure'), requeueAfterMs: waitMs }
      const planned = wait(failed ? 'making the server again after a failure' : makingServer)
      return { ...planned, steps: [{ verb: 'createPod', run }] }
    }
    case 'foreign':
      return wait(`the pod ${server.pod.metadata.name} belongs to something else: delete it, and the server is made`, {
        reason: 'PodNameTaken',
        degraded: true,
      })
    case 'older':
      return { ...wait('waiting for an older server to stop'), steps: removal(server) }
    case 'terminating':
      return wait('the server was deleted: waiting for it to stop')
    case 'current':
      return planCurrent(input, run, server.pod)
  }
}

const planCurrent = (input: PlanInput, run: WorldRun, pod: Pod): Plan => {
  if (pod.status?.phase === 'Succeeded') {
    return record(input, endRun(run, 'Completed', 'the server ended the run', input.nowMs))
  }
  if (pod.status?.phase === 'Failed') return planFailed(input, run, pod)
  const ready = readySince(pod)
  if (ready === undefined) return planUnready(input, run, pod)
  // Kubernetes keeps whole seconds, so its instant may lie before the run began.
  const readyAt = toInstant(Math.max(Date.parse(ready), Date.parse(run.startedAt)))
  const status = statusOf(input, {
    run: { ...run, readyAt },
    phase: 'Active',
    deployment: 'Running',
    message: pod.status?.message ?? '',
    reason: 'ServerReady',
    ready: true,
    pod,
  })
  return { steps: [], status }
}

/**
 * A server on its way. The states that every pod passes within moments are not worth a write each, so the status says
 * what is awaited once it is awaited for long, or at once where somebody has to do something.
 */
const planUnready = (input: PlanInput, run: WorldRun, pod: Pod): Plan => {
  const ageMs = input.nowMs - Date.parse(pod.metadata.creationTimestamp ?? '')
  const patienceMs = needsAttention(pod) ? 0 : patientMs - ageMs
  if (patienceMs <= 0 || Number.isNaN(patienceMs))
    return { steps: [], status: statusOf(input, waiting(run, explain(pod), pod)) }
  return { steps: [], status: statusOf(input, waiting(run, makingServer)), requeueAfterMs: patienceMs }
}

const planFailed = (input: PlanInput, run: WorldRun, pod: Pod): Plan => {
  const { settings, nowMs } = input
  if (wasDisrupted(pod) || run.countedPodUid === pod.metadata.uid) {
    return { steps: [{ verb: 'deletePod', pod }], status: statusOf(input, waiting(run, explain(pod))) }
  }
  const counted = countFailure(run, pod.metadata.uid ?? '', settings, nowMs)
  if (counted.restarts > settings.restartBudget) {
    const why = `the server failed ${counted.restarts} times: ${explain(pod)}`
    return record(input, endRun(counted, 'RestartBudget', why, nowMs))
  }
  return { steps: [], status: statusOf(input, waiting(counted, explain(pod))), requeueAfterMs: 0 }
}

/** Writes the end of the run and stops there; the next reconcile acts on it. */
const record = (input: PlanInput, run: WorldRun): Plan => ({
  ...planEnded(input, run),
  steps: [],
  requeueAfterMs: 0,
})

/** A run whose server is not ready: Starting until it was ready once, then Active while the server is restarted. */
const waiting = (run: WorldRun, message: string, pod?: Pod): Outlook => {
  const restarting = run.readyAt !== undefined || run.restarts > 0
  const live = pod?.spec?.nodeName === undefined ? 'Pending' : 'Starting'
  return {
    run,
    phase: run.readyAt === undefined ? 'Starting' : 'Active',
    deployment: restarting ? 'Restarting' : live,
    message,
    reason: restarting ? 'Restarting' : 'Starting',
    progressing: true,
    ...(pod === undefined ? {} : { pod }),
  }
}
