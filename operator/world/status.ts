import {
  type ConditionState,
  maxMessageLength,
  updateConditions,
  type Verdict,
} from '#operator/lifecycle/conditions.ts'
import { toInstant } from '#operator/lifecycle/duration.ts'
import { findCondition } from '#operator/lifecycle/events.ts'
import { joinSentences } from '#operator/lifecycle/message.ts'
import { type Actions, buildPlan } from '#operator/lifecycle/plan.ts'
import type { Pod } from '#operator/pods/pod.ts'
import { hasFailed } from '#shared/domain/phases.ts'
import type { DeploymentStatus, WorldPhase } from '#shared/enumerations.ts'
import { deploymentIdOfRun } from '#shared/ids.ts'
import { withDefined } from '#shared/optional.ts'
import type { World, WorldRun, WorldStatus } from '#shared/resources/world.ts'
import { awaits, waitForAnswer } from './askedServer.ts'
import { idleConditions, idleOfEnded, idleOfReady } from './idle.ts'
import { hasEndedInError } from './run.ts'
import { isPodDeletion, type Plan, type PlanInput, type Step } from './step.ts'

/** The conclusion of one reconcile. The rest of the status follows from it and from the world. */
export type Outcome = Verdict & {
  readonly run?: WorldRun
  /** The run that phase and message are about, if it is not captured yet. */
  readonly runId?: string
  readonly phase: WorldPhase
  readonly deployment?: DeploymentStatus
  /** The server, if there is one. */
  readonly pod?: Pod
  readonly addresses?: WorldStatus['addresses']
}

/** Returns a plan with the status of that outcome. */
export const planWith = (input: PlanInput, outcome: Outcome, actions?: Actions<Step>): Plan =>
  buildPlan(statusOf(input, outcome), outcome, actions)

/** Returns the plan without its steps. The status is written first, and the next reconcile plans the steps again. */
export const recordOnly = (planned: Plan): Plan => ({ ...planned, steps: [], requeueAfterMs: 0 })

/**
 * Returns the plan, or only its status if it would delete the pod of a run that is not on record yet. A crash between
 * the deletion and the first status of that run would lose it.
 */
export const recordRunFirst = ({ world }: PlanInput, planned: Plan): Plan => {
  const isNewlyRecorded = planned.status.run?.id !== world.status?.run?.id
  return isNewlyRecorded && planned.steps.some(isPodDeletion) ? recordOnly(planned) : planned
}

/** Returns the operator's whole status. It depends on its input alone, so an unchanged world gives an equal status. */
const statusOf = (input: PlanInput, outcome: Outcome): WorldStatus => {
  const { world, nowMs } = input
  const { run } = outcome
  const [first] = outcome.addresses ?? []
  const { idle, conditions } = sleepOf(input, outcome)
  const observedGeneration = world.metadata.generation ?? 0
  return {
    phase: outcome.phase,
    observedGeneration,
    ...withDefined({
      message: messageOf(outcome).slice(0, maxMessageLength) || undefined,
      runId: outcome.runId ?? run?.id,
      startedAt: outcome.runId === undefined ? run?.startedAt : world.spec.startedAt,
      observedRevision: world.spec.revision,
      address: first && { host: first.host, port: first.port },
      addresses: outcome.addresses,
      nodeName: outcome.pod?.spec?.nodeName,
      queue: queueOf(input, outcome),
      idle,
      run,
      deployment: deploymentOf(input, outcome),
      previousDeployment: previousDeploymentOf(world, run),
    }),
    conditions: updateConditions(world.status?.conditions, outcome, { observedGeneration, nowMs }, [
      ...respondingOf(input, outcome),
      ...conditions,
    ]),
  }
}

/** The message with the words of the trouble, which it usually has. Those of a server that is Ready do not. */
const messageOf = ({ message, trouble }: Outcome): string =>
  trouble === undefined || message.includes(trouble.message) ? message : joinSentences(trouble.message, message)

/** The deployment before the present one. It has ended: a run's server is gone before the next one's is created. */
const previousDeploymentOf = (
  { status = {} }: World,
  run: WorldRun | undefined,
): WorldStatus['previousDeployment'] | undefined => {
  const last = status.deployment
  if (last === undefined || run === undefined || last.id === deploymentIdOfRun(run.id)) return status.previousDeployment
  // A failed run is an Error even if its server was still stopping.
  const isError = hasFailed(last) || (status.run !== undefined && hasEndedInError(status.run))
  return { ...last, status: isError ? 'Error' : 'Stopped' }
}

const deploymentOf = ({ world, pod, nowMs }: PlanInput, outcome: Outcome): WorldStatus['deployment'] | undefined => {
  const { run } = outcome
  if (run === undefined || outcome.deployment === undefined) return undefined
  const id = deploymentIdOfRun(run.id)
  const recorded = world.status?.deployment?.id === id ? world.status.deployment : undefined
  const isCurrent = pod !== undefined && outcome.pod?.metadata.uid === pod.metadata.uid
  // A pod that is lost quickly may not have been in any status.
  const lostUid = run.countedPodUid === world.status?.run?.countedPodUid ? undefined : run.countedPodUid
  return {
    id,
    externalId: (isCurrent ? pod.metadata.uid : (lostUid ?? recorded?.externalId)) ?? '',
    status: outcome.deployment,
    createdAt: recorded?.createdAt ?? toInstant(nowMs),
  }
}

/** Returns the status if it is about that pod. */
const statusOfPod = ({ status }: World, { metadata }: Pod): WorldStatus | undefined =>
  status?.deployment?.externalId === metadata.uid ? status : undefined

/**
 * Returns the last report of the Ready server, and none while it does not answer. Without a query, a first report of 0 and 0 counts as no
 * report, which saves a write.
 */
const queueOf = ({ world, queried }: PlanInput, { ready, pod, run }: Outcome): WorldStatus['queue'] | undefined => {
  if (ready !== true || pod === undefined) return undefined
  const recorded = statusOfPod(world, pod)?.queue
  if (queried?.kind !== 'answered') return queried === undefined ? recorded : undefined
  const { active, queued } = queried.queue
  const isFirst = recorded === undefined && run?.query === undefined
  return isFirst && active === 0 && queued === 0 ? undefined : queried.queue
}

/** Returns the sleep of a run whose server is Ready or that sleeps, with the conditions that explain it. */
const sleepOf = (
  input: PlanInput,
  { ready, pod, run, phase }: Outcome,
): { readonly idle?: WorldStatus['idle'] | undefined; readonly conditions: readonly ConditionState[] } => {
  if (run !== undefined && phase === 'Stopped') return { idle: idleOfEnded(input.world, run), conditions: [] }
  if (run === undefined || pod === undefined || ready !== true) return { conditions: [] }
  const readyRun = { ...input, run, recorded: statusOfPod(input.world, pod) }
  const idle = idleOfReady(readyRun)
  return { idle, conditions: idleConditions(readyRun, idle) }
}

/**
 * Returns the condition Responding of a server with a query, while it is Ready or awaited. Until this process knows, it stays as it is
 * on record.
 */
const respondingOf = ({ world, queried }: PlanInput, { ready, pod, run }: Outcome): ConditionState[] => {
  if (run?.query === undefined || pod === undefined || !(ready === true || awaits(run, pod))) return []
  const type = 'Responding'
  if (queried?.kind === 'unanswered') return [{ type, holds: false, reason: queried.reason, message: queried.why }]
  if (queried?.kind === 'answered') {
    const { note } = queried
    return [{ type, holds: true, reason: note === undefined ? 'Answered' : 'CountsCorrected', message: note ?? '' }]
  }
  const recorded = findCondition(statusOfPod(world, pod) ?? {}, type)
  if (recorded === undefined)
    return [{ type, holds: 'Unknown', reason: 'NoAnswerYet', message: waitForAnswer(run, pod) }]
  const { status, reason = '', message = '' } = recorded
  return [{ type, holds: status === 'Unknown' ? status : status === 'True', reason, message }]
}
