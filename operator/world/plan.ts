import { type Diagnosis, refusalReasons } from '#operator/refusal.ts'
import { deploymentIdOfRun } from '#shared/ids.ts'
import { isPaused, pausedAnnotation } from '#shared/resources/group.ts'
import type { WorldRun, WorldStatus } from '#shared/resources/world.ts'
import { explainFailure, explainWaiting } from './diagnosis.ts'
import { againMsOf, drain, holdUp, unseen } from './drain.ts'
import { planDeletion, planEnded, planStopped } from './ended.ts'
import { lastRun, observeServer, readySince, type Server } from './observe.ts'
import { isMadeFor, type Pod } from './pod.ts'
import { countLoss, endRun, expiresAtMs, freezeRun, nextPodAtMs, readyRun, toInstant, wantedRunId } from './run.ts'
import { type Network, planNetwork } from './service.ts'
import { type Outlook, pausedStatus, statusOf } from './status.ts'
import { lookAgain, type Plan, type PlanInput, removal } from './step.ts'

/** How long the first steps of a pod go unreported. */
const patientMs = 3_000
const making: Diagnosis = {
  reason: 'Starting',
  message: 'waiting for the server to become ready',
  serious: false,
}

/**
 * Plans one reconcile of a World. What must not be lost is recorded before it is acted on: a run has its id in the spec or
 * in the status before its first pod is made, and a failure or an end is in the status before the pod that shows it is
 * deleted.
 */
export const plan = (input: PlanInput): Plan => {
  const { world } = input
  if (isPaused(world)) {
    const message = `paused: nothing is done for this world until its annotation ${pausedAnnotation} is removed`
    return { steps: [], status: pausedStatus(input, message) }
  }
  if (world.metadata.deletionTimestamp !== undefined) return planDeletion(input)
  if (world.spec.state === 'Stopped') return planStopped(input)
  const wanted = wantedRunId(world, input.newRunId)
  const run = world.status?.run
  if (run?.id !== wanted) return planNewRun(input, wanted)
  return run.endReason === undefined ? planRun(input, run) : planEnded(input, run)
}

/**
 * The wanted run is not the recorded one: older servers stop first. Where the spec gives the run its id, the run is on
 * record there, so its pod is made at once and the status follows when nothing more urgent waits. An id of the operator's
 * own choice is in the status before anything bears it.
 */
const planNewRun = (input: PlanInput, runId: string): Plan => {
  const { world, settings, nowMs } = input
  const run = freezeRun(world, runId, settings, nowMs)
  const server = observeServer(input, runId)
  // Between its pod and its status the spec may have changed; then the pod is not what the status would say.
  if (server.kind !== 'current' || !isMadeFor(server.pod, run)) {
    const draining = drain(input, runId)
    if (!draining.over) {
      const { trouble } = draining
      const last = lastRun(input)
      const status = statusOf(input, {
        ...(last ? { run: last } : {}),
        runId,
        phase: 'Starting',
        deployment: draining.deployment,
        message: trouble?.message ?? 'waiting for the server of the previous run to stop',
        reason: trouble?.reason ?? 'PreviousRun',
        progressing: true,
        trouble,
      })
      return { steps: draining.steps, status, ...lookAgain(draining.againMs) }
    }
  }
  if (world.spec.runId === undefined) {
    return { steps: [], status: statusOf(input, waiting(input, run, making)), requeueAfterMs: 0 }
  }
  const planned = planRun(input, run)
  return planned.steps.some(({ verb }) => verb === 'createPod') ? { ...planned, tellLater: true } : planned
}

/** The run is wanted and not over: its duration first, then the server and its network, then the deadline. */
const planRun = (input: PlanInput, run: WorldRun): Plan => {
  const { world, settings, nowMs } = input
  const expiresMs = expiresAtMs(world, run)
  if (nowMs >= expiresMs) return planEnded(input, endRun(run, 'Expired', 'the duration of the run is over', nowMs))
  const network = planNetwork(input, run)
  const server = planServer(input, run, observeServer(input, run.id), network)
  const after = server.status.run
  if (after?.endReason !== undefined) return server
  const known = world.status?.deployment
  const takenUpMs = known?.id === deploymentIdOfRun(run.id) ? Date.parse(known.createdAt) : nowMs
  const deadlineMs = after?.readyAt === undefined ? takenUpMs + settings.startDeadlineMs : Number.POSITIVE_INFINITY
  if (nowMs >= deadlineMs) {
    const failure = delayOf(input, server.status)
    const why = `the server was not ready in time: ${failure.message}`
    return planEnded(input, endRun({ ...(after ?? run), failure }, 'StartDeadline', why, nowMs))
  }
  const again = lookAgain(expiresMs - nowMs, deadlineMs - nowMs, server.requeueAfterMs)
  return { steps: [...server.steps, ...network.steps], status: server.status, ...again }
}

/** Why a server is late: what was refused last, since no pod shows that, or else what is waited for now. */
const delayOf = ({ world, pod }: PlanInput, planned: WorldStatus): NonNullable<WorldRun['failure']> => {
  const refused = world.status?.conditions?.find(({ reason }) => refusalReasons.includes(reason))
  const isRefused = refused !== undefined && pod === undefined
  const now = planned.conditions?.find(({ type }) => type === 'Ready')
  const { reason, message } = isRefused ? refused : { reason: now?.reason ?? '', message: planned.message ?? '' }
  return { reason: reason === 'Starting' ? 'StartDeadline' : reason, message: message.slice(0, 2048) }
}

const planServer = (input: PlanInput, run: WorldRun, server: Server, network: Network): Plan => {
  const wait = (why: Diagnosis, also: Partial<Outlook> = {}): Plan => ({
    steps: [],
    status: statusOf(input, { ...waiting(input, run, why), ...also }),
  })
  switch (server.kind) {
    case 'none': {
      const waitMs = nextPodAtMs(run, input.settings) - input.nowMs
      if (waitMs > 0) return { ...wait(making), requeueAfterMs: waitMs }
      return { ...wait(making), steps: [{ verb: 'createPod', run }] }
    }
    case 'foreign':
      return wait(podNameTaken(server.pod.metadata.name))
    case 'older':
      return { ...wait({ ...making, message: 'waiting for an older server to stop' }), steps: removal(server) }
    case 'terminating': {
      const held = holdUp(server, input.nowMs)
      const deleted = {
        reason: 'ServerDeleted',
        message: 'the server was deleted: waiting for it to stop',
        serious: false,
      }
      const also = server.node.kind === 'unseen' ? { deployment: 'Unknown' as const } : {}
      const again = lookAgain(againMsOf(server, input.nowMs))
      return { ...wait(held ?? deleted, also), steps: removal(server), ...again }
    }
    case 'current':
      return planCurrent(input, run, server, network)
  }
}

/** What is said where a stranger's pod bears the world's name. */
export const podNameTaken = (name: string): Diagnosis => ({
  reason: 'PodNameTaken',
  message: `the pod ${name} belongs to something else: delete it, and the server is made`,
  serious: true,
})

type Current = Extract<Server, { node: unknown }>

const planCurrent = (input: PlanInput, run: WorldRun, server: Current, network: Network): Plan => {
  const { pod, node } = server
  if (pod.status?.phase === 'Succeeded') {
    return record(input, endRun(run, 'Completed', 'the server ended the run', input.nowMs))
  }
  if (pod.status?.phase === 'Failed') return planLost(input, run, server, explainFailure(pod))
  if (node.kind === 'dead') {
    const message = `the server was lost, since ${node.why}`
    return planLost(input, run, server, { reason: 'NodeLost', message, serious: true, disrupted: true })
  }
  if (node.kind === 'unseen') {
    const outlook = { ...waiting(input, run, unseen(node), pod), deployment: 'Unknown', ready: 'Unknown' } as const
    return { steps: [], status: statusOf(input, outlook), ...lookAgain(againMsOf(server, input.nowMs)) }
  }
  const ready = readySince(pod)
  if (ready === undefined) return planUnready(input, run, server, network)
  if (network.address === undefined) {
    const outlook = waiting(input, run, network.missing ?? making, pod)
    const lostIt = run.readyAt === undefined ? {} : { deployment: 'Running' as const }
    return { steps: [], status: statusOf(input, { ...outlook, ...lostIt }) }
  }
  // Kubernetes keeps whole seconds, so its instant may lie before the run began.
  const readyAt = toInstant(Math.max(Date.parse(ready), Date.parse(run.startedAt)))
  const status = statusOf(input, {
    run: readyRun(run, readyAt, pod.metadata.uid),
    phase: 'Active',
    deployment: 'Running',
    message: pod.status?.message ?? '',
    reason: 'ServerReady',
    ready: true,
    pod,
    address: network.address,
  })
  return { steps: [], status }
}

/**
 * A server on its way. The states that every pod passes within moments are not worth a write each, so the status says
 * what is awaited once it is awaited for long, or at once where somebody has to do something.
 */
const planUnready = (input: PlanInput, run: WorldRun, server: Current, { address }: Network): Plan => {
  const { pod } = server
  const createdMs = Date.parse(pod.metadata.creationTimestamp ?? '')
  if (run.readyPodUid !== undefined && run.readyPodUid === pod.metadata.uid) {
    const why = { reason: 'ServerNotReady', message: 'the server no longer says that it is ready', serious: true }
    const outlook = {
      ...waiting(input, run, why, pod),
      deployment: 'Running',
      ...(address ? { address } : {}),
    } as const
    return { steps: [], status: statusOf(input, outlook) }
  }
  const ageMs = input.nowMs - createdMs
  const leftMs = input.settings.startDeadlineMs - ageMs
  const why = explainWaiting(pod)
  if (run.readyAt !== undefined && leftMs <= 0) {
    const message = `the server was made again and not ready in time: ${why.message}`
    return planLost(input, run, server, { reason: 'NotReadyInTime', message, serious: true, disrupted: false })
  }
  const patienceMs = why.serious ? 0 : patientMs - ageMs
  if (patienceMs > 0)
    return { steps: [], status: statusOf(input, waiting(input, run, making)), requeueAfterMs: patienceMs }
  const deadline = run.readyAt === undefined ? {} : lookAgain(leftMs)
  return { steps: [], status: statusOf(input, waiting(input, run, why, pod)), ...deadline }
}

/** A server that is lost: counted once, then removed, and made again while the budget lasts. */
const planLost = (
  input: PlanInput,
  run: WorldRun,
  server: Current,
  why: Diagnosis & { readonly disrupted: boolean },
): Plan => {
  const { settings, nowMs } = input
  const uid = server.pod.metadata.uid ?? ''
  if (run.countedPodUid === uid) {
    return { steps: removal(server), status: statusOf(input, waiting(input, run, making)) }
  }
  const counted = countLoss(run, uid, why, { settings, nowMs })
  if (counted.restarts > settings.restartBudget) {
    const times = counted.restarts === 1 ? 'once' : `${counted.restarts} times`
    return record(
      input,
      endRun(counted, 'RestartBudget', `the server failed ${times}, at last so: ${why.message}`, nowMs),
    )
  }
  return { steps: [], status: statusOf(input, waiting(input, counted, making)), requeueAfterMs: 0 }
}

/** Writes the end of the run and stops there; the next reconcile acts on it. */
const record = (input: PlanInput, run: WorldRun): Plan => ({
  ...planEnded(input, run),
  steps: [],
  requeueAfterMs: 0,
})

/**
 * A run whose server is not ready: Starting until it was ready once, then Active while the server is restarted. What the
 * server was lost by is told until it is ready again, unless something else is in the way now.
 */
const waiting = ({ settings }: PlanInput, run: WorldRun, now: Diagnosis, pod?: Pod): Outlook => {
  const wasReady = run.readyAt !== undefined
  const restarting = wasReady || run.failedAt !== undefined
  const live = pod?.spec?.nodeName === undefined ? 'Pending' : 'Starting'
  const lost = run.failure
  const why =
    lost === undefined || now.serious || now.reason !== 'Starting' ? now : restartOf(run, lost, settings.restartBudget)
  return {
    run,
    phase: wasReady ? 'Active' : 'Starting',
    deployment: restarting ? 'Restarting' : live,
    message: why.message,
    reason: why.reason,
    progressing: true,
    trouble: why.serious ? why : undefined,
    ...(pod === undefined ? {} : { pod }),
  }
}

const disruptions = ['Evicted', 'NodeLost', 'NodeRefused']

const restartOf = (
  run: WorldRun,
  { reason, message }: NonNullable<WorldRun['failure']>,
  budget: number,
): Diagnosis => ({
  reason,
  message: `${disruptions.includes(reason) ? 'the server is made again' : `restart ${run.restarts} of ${budget}`}: ${message}`,
  serious: true,
})
