import type { DeploymentStatus, WorldPhase } from '#shared/enumerations.ts'
import { deploymentIdOfRun } from '#shared/ids.ts'
import { setCondition } from '#shared/kube/conditions.ts'
import type { Condition } from '#shared/kube/objects.ts'
import type { WorldRun, WorldStatus } from '#shared/resources/world.ts'
import { gamePort, type Pod } from './pod.ts'
import { toInstant } from './run.ts'
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
  readonly ready?: boolean
  readonly progressing?: boolean
  readonly degraded?: boolean
  /** The server, where there is one that players may be sent to. */
  readonly pod?: Pod
}

/** The condition types that the operator owns; Synced is the API's. */
const ownConditions = ['Ready', 'Progressing', 'Degraded']

/** The whole status that the operator owns. It depends on nothing but its input, so an unchanged world gives an equal one. */
export const statusOf = (input: PlanInput, outlook: Outlook): WorldStatus => {
  const { world } = input
  const { run, pod } = outlook
  const runId = outlook.runId ?? run?.id
  const startedAt = outlook.runId === undefined ? run?.startedAt : world.spec.startedAt
  const host = pod?.status?.podIP
  const previous = world.status?.previousDeployment
  return {
    phase: outlook.phase,
    ...(outlook.message === '' ? {} : { message: outlook.message.slice(0, 4096) }),
    ...(runId === undefined ? {} : { runId }),
    ...(startedAt === undefined ? {} : { startedAt }),
    observedGeneration: world.metadata.generation ?? 0,
    ...(world.spec.revision === undefined ? {} : { observedRevision: world.spec.revision }),
    ...(host === undefined ? {} : { address: { host, port: gamePort } }),
    ...(pod?.spec?.nodeName === undefined ? {} : { nodeName: pod.spec.nodeName }),
    ...(run === undefined ? {} : { run }),
    ...deployment(input, outlook),
    ...(previous === undefined ? {} : { previousDeployment: previous }),
    conditions: conditions(input, outlook),
  }
}

const deployment = (input: PlanInput, outlook: Outlook): Pick<WorldStatus, 'deployment'> => {
  const { world, pod, nowMs } = input
  const { run } = outlook
  if (run === undefined || outlook.deployment === undefined) return {}
  const id = deploymentIdOfRun(run.id)
  const known = world.status?.deployment?.id === id ? world.status.deployment : undefined
  const current = pod !== undefined && outlook.pod?.metadata.uid === pod.metadata.uid
  return {
    deployment: {
      id,
      externalId: (current ? pod.metadata.uid : known?.externalId) ?? '',
      status: outlook.deployment,
      createdAt: known?.createdAt ?? toInstant(nowMs),
    },
  }
}

const conditions = (input: PlanInput, outlook: Outlook): Condition[] => {
  const { world, nowMs } = input
  const wanted = [
    ['Ready', outlook.ready ?? false],
    ['Progressing', outlook.progressing ?? false],
    ['Degraded', outlook.degraded ?? false],
  ] as const
  const own = (world.status?.conditions ?? []).filter((condition) => ownConditions.includes(condition.type))
  return wanted.reduce<Condition[]>(
    (all, [type, holds]) =>
      setCondition(
        all,
        {
          type,
          status: holds ? 'True' : 'False',
          reason: outlook.reason,
          message: outlook.message.slice(0, 4096),
          observedGeneration: world.metadata.generation ?? 0,
        },
        nowMs,
      ),
    own,
  )
}
