import type { Diagnosis } from '#operator/refusal.ts'
import type { BotPhase } from '#shared/enumerations.ts'
import { setCondition } from '#shared/kube/conditions.ts'
import type { Condition } from '#shared/kube/objects.ts'
import type { BotDeploymentStatus, BotRun } from '#shared/resources/botDeployment.ts'
import { type Share, shareOf } from './limit.ts'
import { countBots, observePods } from './observe.ts'
import { selectorOf } from './pod.ts'
import type { PlanInput } from './step.ts'

type Told = Omit<Diagnosis, 'serious'>

/** What one reconcile concluded; the rest of the status follows from it and from the deployment. */
export type Outlook = {
  readonly run?: BotRun | undefined
  readonly phase: BotPhase
  readonly message: string
  /** One CamelCase word for the conditions. */
  readonly reason: string
  /** How many bots are Ready. */
  readonly readyCount?: number
  /** Whether all bots that were asked for are there. */
  readonly ready?: boolean
  readonly progressing?: boolean
  /** What somebody should look at. */
  readonly trouble?: Told | undefined
}

/** The condition types that the operator owns; Synced is the API's. */
const ownConditions = ['Ready', 'Progressing', 'Degraded', 'LimitExceeded']
const longestMessage = 4_096

/** The whole status that the operator owns; an unchanged deployment gives an equal one. */
export const statusOf = (input: PlanInput, outlook: Outlook): BotDeploymentStatus => {
  const { bots, pods } = input
  const { run, phase, message } = outlook
  return {
    phase,
    ...(message === '' ? {} : { message: message.slice(0, longestMessage) }),
    ...(run === undefined || phase === 'Pending' ? {} : { startedAt: run.startedAt }),
    observedGeneration: bots.metadata.generation ?? 0,
    ...(bots.spec.revision === undefined ? {} : { observedRevision: bots.spec.revision }),
    replicas: countBots(observePods(bots, pods, run?.id)),
    ready: outlook.readyCount ?? 0,
    selector: selectorOf(bots.metadata.name),
    ...(run === undefined ? {} : { run }),
    conditions: conditions(input, outlook),
  }
}

const conditions = (input: PlanInput, outlook: Outlook): Condition[] => {
  const { reason, message, trouble } = outlook
  const wanted: Verdict[] = [
    { type: 'Ready', holds: outlook.ready ?? false, reason, message },
    { type: 'Progressing', holds: outlook.progressing ?? false, reason, message },
    { type: 'Degraded', holds: trouble !== undefined, reason, message, ...trouble },
    { type: 'LimitExceeded', ...limitVerdict(shareOf(input.bots, input.siblings, input.world)) },
  ]
  return wanted.reduce((all, verdict) => withVerdict(input, all, verdict), ownOf(input))
}

type Verdict = Told & { readonly type: string; readonly holds: boolean }

const limitVerdict = ({ excess }: Share) =>
  excess === undefined
    ? { holds: false, reason: 'WithinMaxBotsPerWorld', message: '' }
    : { holds: true, reason: 'MaxBotsPerWorld', message: excess }

const withVerdict = ({ bots, nowMs }: PlanInput, all: readonly Condition[], verdict: Verdict): Condition[] => {
  const { type, holds, reason, message } = verdict
  const observedGeneration = bots.metadata.generation ?? 0
  const status = holds ? 'True' : 'False'
  return setCondition(
    all,
    { type, status, reason, message: message.slice(0, longestMessage), observedGeneration },
    nowMs,
  )
}

const ownOf = ({ bots }: PlanInput): Condition[] =>
  (bots.status?.conditions ?? []).filter(({ type }) => ownConditions.includes(type))

/** The status with a refusal of the API server in it: what was planned could not be done. */
export const refusedStatus = (
  input: PlanInput,
  planned: BotDeploymentStatus,
  { reason, message }: Told,
): BotDeploymentStatus => {
  const earlier = planned.message ? `${planned.message}; ` : ''
  const refused = { type: 'Degraded', holds: true, reason, message }
  return {
    ...planned,
    message: `${earlier}${message}`.slice(0, longestMessage),
    conditions: withVerdict(input, planned.conditions ?? [], refused),
  }
}

/** The status of a paused deployment: all of it stays as it was, but that it says so. */
export const pausedStatus = (input: PlanInput): BotDeploymentStatus => {
  const { status = {} } = input.bots
  const message = 'paused: nothing is done for these bots until the annotation orrery.dev/paused is removed'
  const paused = { type: 'Progressing', holds: false, reason: 'Paused', message }
  return {
    ...status,
    phase: status.phase ?? 'Pending',
    message,
    conditions: withVerdict(input, ownOf(input), paused),
  }
}
