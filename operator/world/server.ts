import { toInstant } from '#operator/lifecycle/duration.ts'
import { findCondition, isTrue } from '#operator/lifecycle/events.ts'
import { joinSentences } from '#operator/lifecycle/message.ts'
import { type Case, planFirst, requeueAfter } from '#operator/lifecycle/plan.ts'
import {
  type Diagnosis,
  disruptionReasons,
  explainDisruption,
  explainFailure,
  explainWaiting,
  type Loss,
  pendingDiagnosis,
  podNameTaken,
  seriousDiagnosis,
} from '#operator/pods/diagnosis.ts'
import type { Pod } from '#operator/pods/pod.ts'
import { endOf, notReadySince, readySince } from '#operator/pods/podState.ts'
import { explainBlockedEnd, explainUnreachable, nextChangeMs } from '#operator/pods/termination.ts'
import { publicPorts } from '#shared/domain/ports.ts'
import { awaitsAnswer } from '#shared/domain/query.ts'
import { withDefined } from '#shared/optional.ts'
import type { World, WorldRun } from '#shared/resources/world.ts'
import { failureMessages, lowerFirst } from '#shared/why/wording.ts'
import type { Network } from './addresses.ts'
import { explainAnswerWait } from './askedServer.ts'
import { planEnded } from './ended.ts'
import { explainForbidden } from './forbidden.ts'
import { explainHostPortWait, rangeTooSmall, replaceAfterMs } from './hostPortWait.ts'
import { type OwnServer, observeServer, type Server, serverDeletionSteps } from './observe.ts'
import { countLoss, endRun, markReady, nextPodAtMs } from './run.ts'
import { type Outcome, planWith, recordOnly } from './status.ts'
import type { Plan, PlanInput } from './step.ts'

/**
 * The age of a pod until which its ordinary first states are not written to the status. A server that starts sooner needs one
 * status write. The first status of a slower one says what it waits for.
 */
const quietMs = 2_000

/** The age of a pod until which a status that shows an ordinary wait is not replaced by another ordinary wait. */
const sameWaitMs = 10_000

/** The delay after which a forbidden pod is planned again. */
const forbiddenRetryMs = 15_000

/** The diagnosis of a server in its ordinary first states. */
export const startingDiagnosis: Diagnosis = pendingDiagnosis('Starting', 'Waiting for the server to become ready.')

type ServerInput<Seen extends Server = Server> = PlanInput & {
  readonly run: WorldRun
  readonly network: Network
  readonly server: Seen
}
type OwnInput = ServerInput<OwnServer>

/**
 * Plans the server of a run that is under way. The first case that applies returns the plan. Without a pod of the run:
 *
 *   missing        no pod                          create it, after the backoff of the last loss, unless forbidden
 *   nameTaken      a stranger's pod                report it
 *   older          a pod of another run            delete it
 *   terminating    the pod is being deleted        wait for its end
 *
 * With a pod of the run:
 *
 *   completed      exit code 0 of its container    end the run
 *   failed         its container ended otherwise   count it, delete the pod, create the next while the budget lasts
 *   nodeDead       its node is dead                as failed; does not count against the restart budget
 *   unreachable    its node does not report        wait; Ready and the deployment are Unknown; addresses stay
 *   ready          Ready, with an address          Active; Degraded if it is an earlier one
 *   noAddress      Ready, without an address       wait
 *   noLongerReady  it was Ready before             Active and Degraded; as failed after a time
 *   lateRestart    not Ready in time after a loss  as failed
 *   portsTaken     its host ports are taken        replace it
 *   gettingReady   otherwise                       wait
 *
 * A server that has a query and no probes is Ready in these cases once its pod is and it has answered once. Later silence changes nothing.
 */
export const planServer = (input: PlanInput, run: WorldRun, network: Network): Plan => {
  const server = observeServer(input, run.id)
  return planFirst([missing, nameTaken, older, terminating, current], { ...input, run, network, server })
}

const missing: Case<ServerInput, Plan> = (input) => {
  const { server, run, settings, nowMs } = input
  if (server.kind !== 'none') return undefined
  const forbidden = explainForbidden(input, run)
  if (forbidden !== undefined) {
    return planWith(input, startingOutcome(input, run, forbidden), { requeueAfterMs: forbiddenRetryMs })
  }
  const waitMs = nextPodAtMs(run, settings) - nowMs
  const outcome = startingOutcome(input, run, explainHostPortWait(input, undefined, run) ?? startingDiagnosis)
  if (waitMs > 0) return planWith(input, outcome, { requeueAfterMs: waitMs })
  if (run.strategy !== 'HostPort') return planWith(input, outcome, { steps: [{ verb: 'createPod', run }] })
  const hostPorts = input.hostPorts.allot(run, nowMs)
  return hostPorts.length === publicPorts(run.ports).length
    ? planWith(input, outcome, { steps: [{ verb: 'createPod', run, hostPorts }] })
    : planWith(input, startingOutcome(input, run, rangeTooSmall), { requeueAfterMs: forbiddenRetryMs })
}

const nameTaken: Case<ServerInput, Plan> = (input) =>
  input.server.kind === 'stranger'
    ? planWith(input, startingOutcome(input, input.run, podNameTaken(input.server.pod.metadata.name)))
    : undefined

const older: Case<ServerInput, Plan> = (input) => {
  const { server, run } = input
  if (server.kind !== 'older') return undefined
  const why = pendingDiagnosis('Starting', 'Waiting for an older server to stop.')
  return planWith(input, startingOutcome(input, run, why), { steps: serverDeletionSteps(server, input.settings) })
}

const terminating: Case<ServerInput, Plan> = (input) => {
  const { server, run, nowMs } = input
  if (server.kind !== 'terminating') return undefined
  // The operator deletes a lost server itself, so the loss stays the reason.
  const why =
    explainBlockedEnd(server, nowMs) ?? (run.failure === undefined ? explainDeleted(server) : startingDiagnosis)
  const outcome = startingOutcome(input, run, why)
  return planWith(input, server.node.kind === 'unreachable' ? { ...outcome, deployment: 'Unknown' } : outcome, {
    steps: serverDeletionSteps(server, input.settings),
    ...requeueAfter(nextChangeMs(server, nowMs)),
  })
}

/** Returns why a server that the operator did not delete is being deleted. */
const explainDeleted = ({ pod }: OwnServer): Diagnosis => {
  const why = explainDisruption(pod, 'server') ?? pendingDiagnosis('ServerDeleted', 'The server was deleted.')
  return { ...why, message: joinSentences(why.message, 'Waiting for it to stop.') }
}

const current: Case<ServerInput, Plan> = (input) => {
  const { server } = input
  if (server.kind !== 'current') return undefined
  return planFirst(
    [completed, failed, nodeDead, unreachable, ready, noAddress, noLongerReady, lateRestart, portsTaken, gettingReady],
    { ...input, server },
  )
}

const completed: Case<OwnInput, Plan> = (input) =>
  endOf(input.server.pod, 'server') === 'Succeeded'
    ? recordEnd(input, endRun({ ...input.run, exitCode: 0 }, 'Completed', 'The server ended the run.', input.nowMs))
    : undefined

const failed: Case<OwnInput, Plan> = (input) =>
  endOf(input.server.pod, 'server') === 'Failed'
    ? planLoss(input, explainFailure(input.server.pod, 'server'))
    : undefined

const nodeDead: Case<OwnInput, Plan> = (input) => {
  const { node } = input.server
  return node.kind === 'dead'
    ? planLoss(input, { ...seriousDiagnosis('NodeLost', node.why), disrupted: true })
    : undefined
}

const unreachable: Case<OwnInput, Plan> = (input) => {
  const { server, run, network, nowMs } = input
  if (server.node.kind !== 'unreachable') return undefined
  const outcome = startingOutcome(input, run, explainUnreachable(server.node), server.pod)
  const addresses = run.readyPodUid === server.pod.metadata.uid ? network.addresses : undefined
  return planWith(
    input,
    { ...outcome, deployment: 'Unknown', ready: 'Unknown', ...withDefined({ addresses }) },
    requeueAfter(nextChangeMs(server, nowMs)),
  )
}

/** Returns when the server became Ready, in epoch milliseconds, or undefined while it is not. */
const readyMs = ({ server: { pod }, run, queried, nowMs }: OwnInput): number | undefined => {
  const since = readySince(pod)
  if (since === undefined) return undefined
  // Kubernetes rounds times down to seconds, so the time of the pod may be before the start of the run.
  const podMs = Math.max(Date.parse(since), Date.parse(run.startedAt))
  if (!awaitsAnswer(run)) return podMs
  if (run.readyAt !== undefined && run.readyPodUid === pod.metadata.uid) return Math.max(podMs, Date.parse(run.readyAt))
  return queried?.kind === 'answered' ? Math.max(podMs, nowMs) : undefined
}

const ready: Case<OwnInput, Plan> = (input) => {
  const { server, run, network } = input
  const sinceMs = readyMs(input)
  if (sinceMs === undefined || network.addresses === undefined) return undefined
  return planWith(input, {
    run: markReady(run, toInstant(sinceMs), server.pod.metadata.uid),
    phase: 'Active',
    deployment: 'Running',
    // A simulated node writes to this field that no container runs.
    message: server.pod.status?.message ?? '',
    reason: 'ServerReady',
    ready: true,
    trouble: network.missing,
    pod: server.pod,
    addresses: network.addresses,
  })
}

const noAddress: Case<OwnInput, Plan> = (input) => {
  const { server, run, network } = input
  if (readyMs(input) === undefined) return undefined
  const outcome = startingOutcome(input, run, network.missing ?? startingDiagnosis, server.pod)
  return planWith(input, run.readyAt === undefined ? outcome : { ...outcome, deployment: 'Running' })
}

const noLongerReady: Case<OwnInput, Plan> = (input) => {
  const { server, run, network, settings, nowMs } = input
  if (run.readyPodUid === undefined || run.readyPodUid !== server.pod.metadata.uid) return undefined
  const leftMs = Date.parse(notReadySince(server.pod) ?? '') + settings.notReadyDeadlineMs - nowMs
  if (leftMs <= 0) {
    const message = `The server was not ready for ${Math.round(settings.notReadyDeadlineMs / 1_000)} seconds. Check its log.`
    return planLoss(input, { ...seriousDiagnosis('ServerNotReady', message), disrupted: false })
  }
  const why = seriousDiagnosis('ServerNotReady', 'The server no longer reports that it is ready. Check its log.')
  const outcome = startingOutcome(input, run, why, server.pod)
  return planWith(
    input,
    { ...outcome, deployment: 'Running', ...withDefined({ addresses: network.addresses }) },
    requeueAfter(Number.isNaN(leftMs) ? undefined : leftMs),
  )
}

const lateRestart: Case<OwnInput, Plan> = (input) => {
  const { server, run, settings } = input
  if (run.readyAt === undefined || !(ageMs(input) >= settings.startDeadlineMs)) return undefined
  const why = explainWait(input, true)
  const disrupted = explainHostPortWait(input, server.pod, run) !== undefined
  const message = `The restarted server was not ready in time: ${lowerFirst(why.message)}`
  return planLoss(input, { ...why, reason: 'NotReadyInTime', message, serious: true, disrupted })
}

const portsTaken: Case<OwnInput, Plan> = (input) => {
  const { server, run } = input
  if (replaceAfterMs(input, server.pod, run) !== 0) return undefined
  const outcome = startingOutcome(input, run, explainWait(input), server.pod)
  return planWith(input, outcome, { steps: [{ verb: 'replacePod', pod: server.pod, run }] })
}

/** Returns why a server is not Ready yet, or why it was not before its time `isOver`. */
const explainWait = ({ server: { pod }, ...input }: OwnInput, isOver = false): Diagnosis =>
  explainHostPortWait(input, pod, input.run) ??
  explainAnswerWait(input, input.run, pod, isOver) ??
  explainWaiting(pod, 'server')

const gettingReady = (input: OwnInput): Plan => {
  const { world, server, run, settings } = input
  const why = explainWait(input)
  const quietLeftMs = why.serious ? 0 : quietMs - ageMs(input)
  if (quietLeftMs > 0) {
    const quiet = planWith(input, startingOutcome(input, run, startingDiagnosis), { requeueAfterMs: quietLeftMs })
    return world.status?.run?.id === run.id ? quiet : { ...quiet, deferStatus: true }
  }
  const sameWaitLeftMs = why.serious ? 0 : sameWaitMs - ageMs(input)
  if (sameWaitLeftMs > 0 && world.status !== undefined && showsOrdinaryWait(world, run, server.pod)) {
    return { steps: [], status: world.status, requeueAfterMs: sameWaitLeftMs }
  }
  const deadlineMs = run.readyAt === undefined ? undefined : settings.startDeadlineMs - ageMs(input)
  const next = requeueAfter(deadlineMs, replaceAfterMs(input, server.pod, run))
  return planWith(input, startingOutcome(input, run, why, server.pod), next)
}

/** Reports whether the status shows an ordinary wait of this pod, the first of the run, for the present spec. */
const showsOrdinaryWait = ({ metadata, status }: World, run: WorldRun, { metadata: { uid } }: Pod): boolean =>
  status?.run?.id === run.id &&
  status.observedGeneration === metadata.generation &&
  status.deployment?.status !== 'Unknown' &&
  status.deployment?.externalId === uid &&
  run.readyAt === undefined &&
  findCondition(status, 'Ready')?.reason === 'Starting' &&
  !isTrue(status, 'Degraded')

/** NaN for a pod without a creationTimestamp. */
const ageMs = ({ server, nowMs }: OwnInput): number => nowMs - Date.parse(server.pod.metadata.creationTimestamp ?? '')

/** Counts a lost server once; then deletes its pod, or ends the run when the restart budget is used up. */
const planLoss = (input: OwnInput, loss: Loss): Plan => {
  const { run, server, settings, nowMs } = input
  const uid = server.pod.metadata.uid ?? ''
  if (run.countedPodUid === uid) {
    return planWith(input, startingOutcome(input, run, startingDiagnosis), {
      steps: serverDeletionSteps(server, input.settings),
    })
  }
  const counted = countLoss(run, uid, loss, { settings, nowMs })
  if (counted.restarts > settings.restartBudget) {
    const message = failureMessages.usedUp(loss.message, counted.restarts)
    return recordEnd(input, endRun(counted, 'RestartBudget', message, nowMs), loss.detail)
  }
  const planned = planWith(input, startingOutcome(input, counted, startingDiagnosis), { requeueAfterMs: 0 })
  return { ...planned, ...withDefined({ detail: loss.detail }) }
}

const recordEnd = (input: PlanInput, run: WorldRun, detail?: string): Plan =>
  recordOnly(planEnded(input, run, withDefined({ detail })))

/**
 * Returns the outcome of a run whose server is not ready: Starting until it was ready once, Active after that. The last
 * loss is reported until a server is ready again, unless the current diagnosis is serious.
 */
export const startingOutcome = ({ settings }: PlanInput, run: WorldRun, now: Diagnosis, pod?: Pod): Outcome => {
  const wasReady = run.readyAt !== undefined
  const isRestart = wasReady || run.failedAt !== undefined
  const firstStart = pod?.spec?.nodeName === undefined ? 'Pending' : 'Starting'
  const why =
    run.failure === undefined || now.serious || now.reason !== 'Starting'
      ? now
      : explainRestart(run, run.failure, settings.restartBudget)
  return {
    run,
    phase: wasReady ? 'Active' : 'Starting',
    deployment: isRestart ? 'Restarting' : firstStart,
    message: why.message,
    reason: why.reason,
    progressing: true,
    trouble: why.serious ? why : undefined,
    ...withDefined({ pod }),
  }
}

const explainRestart = (run: WorldRun, failure: NonNullable<WorldRun['failure']>, budget: number): Diagnosis => {
  const message = disruptionReasons.includes(failure.reason)
    ? failureMessages.replaced(failure.message)
    : failureMessages.restarted(failure.message, run.restarts, budget)
  return { reason: failure.reason, message, serious: true }
}
