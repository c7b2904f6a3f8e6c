import type { Diagnosis } from '#operator/refusal.ts'
import type { DeploymentStatus, WorldPhase } from '#shared/enumerations.ts'
import { deploymentIdOfRun } from '#shared/ids.ts'
import { setCondition } from '#shared/kube/conditions.ts'
import type { Condition } from '#shared/kube/objects.ts'
import type { World, WorldRun, WorldStatus } from '#shared/resources/world.ts'
import type { Pod } from './pod.ts'
import { endedInError, toInstant } from './run.ts'
import type { PlanInput } from './step.ts'

/** What one reconcile concluded; the rest of the status follows from it and from the world. */
export type Outlook = {
  readonly run?: WorldRun
  /** The run that phase and message are about, where it is not frozen yet. */
  readonly runId?: string
  readonly phase: WorldPhase
  readonly deployment?: DeploymentStatus
  readonly message: string
  /** One CamelCase word for the conditions. */
  readonly reason: string
  /** Unknown while nothing is heard of the server's node. */
  readonly ready?: boolean | 'Unknown'
  readonly progressing?: boolean
  /** What somebody should look at. */
  readonly trouble?: Omit<Diagnosis, 'serious'> | undefined
  /** The server, where there is one. */
  readonly pod?: Pod
  /** Where players find it. */
  readonly address?: WorldStatus['address']
}

/** The condition types that the operator owns; Synced is the API's. */
const ownConditions = ['Ready', 'Progressing', 'Degraded']
const longestMessage = 4_096

/** The whole status that the operator owns. It depends on nothing but its input, so an unchanged world gives an equal one. */
export const statusOf = (input: PlanInput, outlook: Outlook): WorldStatus => {
  const { world } = input
  const { run, pod, address } = outlook
  const runId = outlook.runId ?? run?.id
  const startedAt = outlook.runId === undefined ? run?.startedAt : world.spec.startedAt
  const previous = previousDeployment(world, run)
  return {
    phase: outlook.phase,
    ...(outlook.message === '' ? {} : { message: outlook.message.slice(0, longestMessage) }),
    ...(runId === undefined ? {} : { runId }),
    ...(startedAt === undefined ? {} : { startedAt }),
    observedGeneration: world.metadata.generation ?? 0,
    ...(world.spec.revision === undefined ? {} : { observedRevision: world.spec.revision }),
    ...(address === undefined ? {} : { address }),
    ...(pod?.spec?.nodeName === undefined ? {} : { nodeName: pod.spec.nodeName }),
    ...queue(input, outlook),
    ...(run === undefined ? {} : { run }),
    ...deployment(input, outlook),
    ...(previous === undefined ? {} : { previousDeployment: previous }),
    conditions: conditions(world, outlook, world.metadata.generation ?? 0, input.nowMs),
  }
}

/** The status of a paused world: all of it stays as it was, but that it says so. */
export const pausedStatus = ({ world, nowMs }: PlanInput, message: string): WorldStatus => {
  const { status = {} } = world
  const condition = {
    type: 'Progressing',
    status: 'False',
    reason: 'Paused',
    message,
    // What was edited since is not acted on, and this must not claim that it was.
    observedGeneration: status.observedGeneration ?? 0,
  } as const
  return {
    ...status,
    phase: status.phase ?? 'Inactive',
    message,
    conditions: setCondition(ownOf(world), condition, nowMs),
  }
}

/** The status with a refusal of the API server in it: what was planned could not be done. */
export const refusedStatus = (
  { world, nowMs }: Pick<PlanInput, 'world' | 'nowMs'>,
  planned: WorldStatus,
  trouble: Diagnosis,
): WorldStatus => {
  const { reason, message } = trouble
  const outlook = { phase: planned.phase ?? 'Starting', reason, message, progressing: true, trouble }
  return {
    ...planned,
    message: message.slice(0, longestMessage),
    conditions: conditions(world, outlook, planned.observedGeneration ?? 0, nowMs),
  }
}

/** The deployment before the present one; it is over, since one run's server is gone before the next one's is made. */
const previousDeployment = ({ status = {} }: World, run: WorldRun | undefined): WorldStatus['previousDeployment'] => {
  const last = status.deployment
  if (last === undefined || run === undefined || last.id === deploymentIdOfRun(run.id)) return status.previousDeployment
  // A run that failed is an Error also where its server was still stopping.
  const isError = last.status === 'Error' || (status.run !== undefined && endedInError(status.run))
  return { ...last, status: isError ? 'Error' : 'Stopped' }
}

const deployment = (input: PlanInput, outlook: Outlook): Pick<WorldStatus, 'deployment'> => {
  const { world, pod, nowMs } = input
  const { run } = outlook
  if (run === undefined || outlook.deployment === undefined) return {}
  const id = deploymentIdOfRun(run.id)
  const known = world.status?.deployment?.id === id ? world.status.deployment : undefined
  const current = pod !== undefined && outlook.pod?.metadata.uid === pod.metadata.uid
  // A pod that was lost within moments was in no status before.
  const lost = run.countedPodUid === world.status?.run?.countedPodUid ? undefined : run.countedPodUid
  return {
    deployment: {
      id,
      externalId: (current ? pod.metadata.uid : (lost ?? known?.externalId)) ?? '',
      status: outlook.deployment,
      createdAt: known?.createdAt ?? toInstant(nowMs),
    },
  }
}

/** What the Ready server last reported. Nobody inside and nobody waiting is what no report means, and is not written. */
const queue = ({ world, queue: reported }: PlanInput, { ready, pod }: Outlook): Pick<WorldStatus, 'queue'> => {
  if (ready !== true || pod === undefined) return {}
  const known = world.status?.deployment?.externalId === pod.metadata.uid ? world.status?.queue : undefined
  const now = reported ?? known
  if (now === undefined || (known === undefined && now.active === 0 && now.queued === 0)) return {}
  return { queue: now }
}

const ownOf = (world: World): Condition[] =>
  (world.status?.conditions ?? []).filter((condition) => ownConditions.includes(condition.type))

const conditions = (world: World, outlook: Outlook, observedGeneration: number, nowMs: number): Condition[] => {
  const { ready = false, progressing = false, reason, message, trouble } = outlook
  const wanted = [
    { type: 'Ready', holds: ready, reason, message },
    { type: 'Progressing', holds: progressing, reason, message },
    trouble === undefined
      ? { type: 'Degraded', holds: false, reason: 'AsExpected', message: '' }
      : { type: 'Degraded', holds: true, reason: trouble.reason, message: trouble.message },
  ] as const
  return wanted.reduce<Condition[]>(
    (all, { type, holds, ...why }) =>
      setCondition(
        all,
        {
          type,
          status: holds === 'Unknown' ? 'Unknown' : holds ? 'True' : 'False',
          reason: why.reason,
          message: why.message.slice(0, longestMessage),
          observedGeneration,
        },
        nowMs,
      ),
    ownOf(world),
  )
}
