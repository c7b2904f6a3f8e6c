import { pausedStatus } from '#operator/lifecycle/conditions.ts'
import { expiresAtMs } from '#operator/lifecycle/duration.ts'
import { type Case, planFirst, requeueAfter } from '#operator/lifecycle/plan.ts'
import { refusalReasons } from '#operator/lifecycle/refusal.ts'
import { hasService } from '#shared/domain/ports.ts'
import { deploymentIdOfRun } from '#shared/ids.ts'
import { withDefined } from '#shared/optional.ts'
import { isPaused } from '#shared/resources/group.ts'
import type { WorldRun, WorldStatus } from '#shared/resources/world.ts'
import { failureMessages, splitFailure } from '#shared/why/wording.ts'
import { explainAnswerWait } from './askedServer.ts'
import { drainServer } from './drain.ts'
import { planDeleted, planEnded, planStopped } from './ended.ts'
import { explainForbidden } from './forbidden.ts'
import { endIdleRun, sleepsInMs, withoutSleepClock } from './idle.ts'
import { planNotGranted } from './notGranted.ts'
import { observeRun, observeServer } from './observe.ts'
import { isBuiltFrom } from './pod.ts'
import { repairSteps } from './repair.ts'
import { endRun, findWantedRun, maxFailureLength } from './run.ts'
import { planServer, startingDiagnosis, startingOutcome } from './server.ts'
import { planNetwork } from './service.ts'
import { planWith, recordRunFirst } from './status.ts'
import type { Plan, PlanInput } from './step.ts'

/**
 * Plans one reconcile of a World. The cases are tried from top to bottom, and the first that applies returns the plan. Unless
 * paused, changed labels of the world's own objects are put back too.
 *
 *   paused        annotation orrery.dev/paused, not closed     change nothing, but clear the sleep clock
 *   deleted       the World has a deletionTimestamp            end the run, stop the server
 *   closed        the organization was deleted                 end the run, stop the server
 *   stopped       spec.state is Stopped                        end the run, stop the server
 *   notGranted    the API has not granted the run              stop the server of another run, begin nothing
 *   otherServer   a pod of another run is left                 record that run, then stop its pod
 *   unnamedRun    the operator chose the id of a new run       record the id
 *   ended         the run has ended                            stop the server; delete a transient World in time
 *   expired       the duration of the run has passed           end the run
 *   underWay      none of these                                server and network of the run, until its start deadline or sleep
 *
 * State is recorded before any action that depends on it, so a crash loses nothing. A run has its id in the spec or the
 * status before its first pod is created. A run, a failure or an end is in the status before its pod is deleted.
 */
export const plan = (input: PlanInput): Plan => paused(input) ?? repairFirst(input)

/** Plans a World that is not paused. Labels are put back first, so that the caches show what the later steps change. */
const repairFirst = (input: PlanInput): Plan => {
  const planned = planFirst([deleted, closed, stopped, running], input)
  return { ...planned, steps: [...repairSteps(input), ...planned.steps] }
}

const paused: Case<PlanInput, Plan> = ({ world, policy, nowMs }) => {
  if (!isPaused(world) || policy.isClosed) return undefined
  // Players who come and leave during the pause are not recorded, so a time since which nobody is there would be wrong after it.
  const status = withoutSleepClock(world.status ?? {})
  return {
    steps: [],
    status: pausedStatus<WorldStatus>({ ...status, phase: status.phase ?? 'Inactive' }, nowMs),
  }
}

const deleted: Case<PlanInput, Plan> = (input) =>
  input.world.metadata.deletionTimestamp === undefined ? undefined : planDeleted(input)

const closed: Case<PlanInput, Plan> = (input) =>
  input.policy.isClosed
    ? planStopped(input, {
        reason: 'OrganizationDeleted',
        message: 'The organization was deleted. Its worlds do not run.',
      })
    : undefined

const stopped: Case<PlanInput, Plan> = (input) =>
  input.world.spec.state === 'Stopped' ? planStopped(input) : undefined

/** Plans a World whose state is Running. */
const running = (input: PlanInput): Plan => {
  const wanted = findWantedRun(input)
  if (wanted === undefined) return planNotGranted(input)
  const isOutdated = wanted.isNew && hasOutdatedServer(input, wanted.run)
  return planFirst([otherServer, unnamedRun, ended, expired, underWay], { ...input, ...wanted, isOutdated })
}

type RunInput = PlanInput & {
  readonly run: WorldRun
  /** The run is not in the status yet. */
  readonly isNew: boolean
  /** The run is new and has a pod of an earlier spec: the spec changed after the pod was created and before a status was written. */
  readonly isOutdated: boolean
}

const hasOutdatedServer = (input: PlanInput, run: WorldRun): boolean => {
  const server = observeServer(input, run.id)
  return server.kind === 'current' && !isBuiltFrom(server.pod, run)
}

const otherServer: Case<RunInput, Plan> = (input) => {
  const { run, isNew, isOutdated } = input
  if (!isNew || (!isOutdated && observeServer(input, run.id).kind === 'current')) return undefined
  const drain = drainServer(input, run.id)
  if (drain.isDone) return undefined
  const { trouble, deployment, steps } = drain
  const last = observeRun(input)
  const planned = planWith(
    input,
    {
      ...withDefined({ run: last }),
      runId: run.id,
      phase: 'Starting',
      deployment,
      message: trouble?.message ?? 'Waiting for the server of the previous run to stop.',
      reason: trouble?.reason ?? 'PreviousRun',
      progressing: true,
      trouble,
    },
    { steps, ...requeueAfter(drain.requeueAfterMs) },
  )
  // The pod of an outdated spec needs no record: the spec names its run, which continues.
  return last?.id === run.id ? planned : recordRunFirst(input, planned)
}

const unnamedRun: Case<RunInput, Plan> = (input) =>
  input.isNew && input.world.spec.runId === undefined
    ? planWith(input, startingOutcome(input, input.run, startingDiagnosis), { requeueAfterMs: 0 })
    : undefined

const ended: Case<RunInput, Plan> = (input) =>
  input.run.endReason === undefined ? undefined : planEnded(input, input.run)

const expired: Case<RunInput, Plan> = (input) => {
  const { world, run, nowMs } = input
  if (nowMs < expiresAtMs(world.spec.durationMinutes, run.startedAt)) return undefined
  return planEnded(input, endRun(run, 'Expired', 'The duration of the run is over.', nowMs))
}

const underWay = (input: RunInput): Plan => {
  const { world, run, nowMs } = input
  const network = planNetwork(input, run)
  const isForbidden = input.pod === undefined && explainForbidden(input, run) !== undefined
  const server = planServer(input, run, network)
  if (server.status.run?.endReason !== undefined) return server
  const idleRun = endIdleRun(input, server.status)
  if (idleRun !== undefined) return planEnded(input, idleRun)
  const deadlineMs = startDeadlineMs(input, server.status)
  if (nowMs >= deadlineMs) return planLateStart(input, server)
  const steps = isForbidden ? server.steps : [...server.steps, ...network.steps]
  const expiresMs = expiresAtMs(world.spec.durationMinutes, run.startedAt)
  return {
    ...server,
    steps,
    ...requeueAfter(
      expiresMs - nowMs,
      deadlineMs - nowMs,
      sleepsInMs(server.status, nowMs),
      server.requeueAfterMs,
      network.requeueAfterMs,
    ),
    // The new pod triggers the next reconcile, whose status shows it.
    ...(input.isNew && steps.some(({ verb }) => verb === 'createPod') ? { deferStatus: true } : {}),
  }
}

/** The start deadline counts from the deployment's creation, until the run's server was Ready once. */
const startDeadlineMs = ({ world, run, settings, nowMs }: RunInput, planned: WorldStatus): number => {
  if (planned.run?.readyAt !== undefined) return Number.POSITIVE_INFINITY
  const deployment = world.status?.deployment
  const beganMs = deployment?.id === deploymentIdOfRun(run.id) ? Date.parse(deployment.createdAt) : nowMs
  return beganMs + settings.startDeadlineMs
}

const planLateStart = (input: RunInput, { status, detail }: Plan): Plan => {
  const failure = explainDelay(input, status)
  const message = failureMessages.late(splitFailure(failure.message).failure)
  return planEnded(
    input,
    endRun({ ...(status.run ?? input.run), failure }, 'StartDeadline', message, input.nowMs),
    withDefined({ detail }),
  )
}

/** Returns the last refusal of a pod or service that is missing, or else the reason why the server is not Ready. */
const explainDelay = (input: RunInput, planned: WorldStatus): NonNullable<WorldRun['failure']> => {
  const { world, run, pod, service, route } = input
  const refused = world.status?.conditions?.find(({ reason }) => refusalReasons.includes(reason))
  const isMissing =
    pod === undefined ||
    (service === undefined && hasService(run.strategy)) ||
    (route === undefined && run.strategy === 'Route')
  const isRefused = refused !== undefined && isMissing
  const ready = planned.conditions?.find(({ type }) => type === 'Ready')
  const { reason, message } = isRefused ? refused : { reason: ready?.reason ?? '', message: planned.message ?? '' }
  if (reason !== 'Starting') return { reason, message: message.slice(0, maxFailureLength) }
  const server = observeServer(input, run.id)
  const wait = server.kind === 'current' ? explainAnswerWait(input, run, server.pod, true)?.message : undefined
  return { reason: 'StartDeadline', message: (wait ?? message).slice(0, maxFailureLength) }
}
