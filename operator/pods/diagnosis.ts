import { withDefined } from '#shared/optional.ts'
import type { TemporaryReason } from '#shared/why/reasons.ts'
import { askOperator, type TroubleReason } from '#shared/why/remedies.ts'
import { waitingFor } from '#shared/why/wording.ts'
import type { Pod, PodRole } from './pod.ts'
import { containerStatusOf } from './podState.ts'

/** The reason why an object is not in its desired state. */
export type Diagnosis = {
  /** A CamelCase word for programs. */
  readonly reason: string
  /** Fixed sentences for the tenant, without words of the kubelet, a registry or the API server. */
  readonly message: string
  /** The original text, for the Kubernetes event and the log. */
  readonly detail?: string
  /** True if it may not resolve by itself. The object is then Degraded. */
  readonly serious: boolean
}

/** A diagnosis that makes its object Degraded. */
export const seriousDiagnosis = (reason: TroubleReason, message: string, detail?: string): Diagnosis =>
  detail ? { reason, message, detail, serious: true } : { reason, message, serious: true }

/** A diagnosis that resolves by itself. */
export const pendingDiagnosis = (reason: TemporaryReason, message: string): Diagnosis => ({
  reason,
  message,
  serious: false,
})

/** Returns why a pod is not Ready yet. */
export const explainWaiting = (pod: Pod, role: PodRole): Diagnosis => {
  const scheduled = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled')
  if (scheduled?.status === 'False') {
    return scheduled.reason === 'SchedulingGated'
      ? seriousDiagnosis('SchedulingGated', `A scheduling gate holds the ${role}. ${askOperator}`, scheduled.message)
      : seriousDiagnosis('Unschedulable', unschedulable[role], scheduled.message)
  }
  const waiting = containerStatusOf(pod, role)?.state?.waiting
  if (waiting?.reason !== undefined && !ordinaryWaits.includes(waiting.reason)) {
    return explainContainer(pod, role, waiting.reason, waiting.message)
  }
  if (pod.spec?.nodeName === undefined) return pendingDiagnosis('Starting', 'Waiting for a node.')
  if (pod.status?.phase !== 'Running') return pendingDiagnosis('Starting', `${waitingFor(role)} start.`)
  return pendingDiagnosis('Starting', `${waitingFor(role)} become ready.`)
}

const unschedulable: Record<PodRole, string> = {
  server: 'No node has room for the server. Choose a smaller scaling profile, or ask the platform operator.',
  bot: 'No node has room for the bot. Lower its cpu or memory, or ask the platform operator.',
}
const imageUnavailable: Record<PodRole, string> = {
  server: 'The server image cannot be pulled. Check the image of the build, or ask the platform operator.',
  bot: `The bot image cannot be pulled. ${askOperator}`,
}
const ordinaryWaits = ['ContainerCreating', 'PodInitializing']
const imageFaults = [
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'ImageInspectError',
  'RegistryUnavailable',
  'SignatureValidationFailed',
]

const explainContainer = (pod: Pod, role: PodRole, reason: string, message: string | undefined): Diagnosis => {
  const detail = join(reason, message)
  if (imageFaults.includes(reason)) {
    return seriousDiagnosis('ImagePullFailed', imageUnavailable[role], join(containerOf(pod, role)?.image, detail))
  }
  if (reason === 'CrashLoopBackOff') {
    return seriousDiagnosis('CrashLoop', `The ${role} fails repeatedly. Check its log.`, detail)
  }
  const advice = 'Check the image and its arguments, or ask the platform operator.'
  return seriousDiagnosis('ContainerCannotStart', `The container of the ${role} cannot start. ${advice}`, detail)
}

const containerOf = (pod: Pod, role: PodRole) => pod.spec?.containers?.find(({ name }) => name === role)

const join = (...parts: readonly (string | undefined)[]): string => parts.filter(Boolean).join(': ')

/** The reason why a pod was lost. A disrupted pod was removed by the cluster and did not fail by itself. */
export type Loss = Diagnosis & { readonly disrupted: boolean; readonly exitCode?: number }

/** Returns why a pod failed. */
export const explainFailure = (pod: Pod, role: PodRole): Loss => {
  const disruption = explainDisruption(pod, role)
  if (disruption !== undefined) return { ...disruption, disrupted: true }
  const terminated = containerStatusOf(pod, role)?.state?.terminated
  const exit = { disrupted: false, ...withDefined({ exitCode: terminated?.exitCode }) }
  if (terminated?.reason === 'OOMKilled') {
    const limit = containerOf(pod, role)?.resources?.limits?.memory
    const what = `The ${role} exceeded its memory limit${limit === undefined ? '' : ` of ${limit}`}.`
    const advice = role === 'server' ? 'Choose a larger scaling profile.' : 'Raise its memory.'
    return { ...seriousDiagnosis('OutOfMemory', `${what} ${advice}`), ...exit }
  }
  const reason = role === 'server' ? 'ServerFailed' : 'BotFailed'
  const [what, detail] =
    terminated === undefined
      ? [`The ${role} ended for an unknown reason.`, join(pod.status?.reason, pod.status?.message)]
      : [`The ${role} failed with exit code ${terminated.exitCode ?? 'unknown'}.`, terminated.message]
  return { ...seriousDiagnosis(reason, what, detail), ...exit }
}

/** The reasons in a pod's status by which a kubelet refuses to run it. */
const kubeletRefusals =
  /^(OutOf|NodeAffinity|NodeName|NodePorts|UnexpectedAdmissionError|Unexpected|PodFeature|Topology)/

/** Returns how the cluster removed a pod, or undefined if it did not. */
export const explainDisruption = ({ status }: Pick<Pod, 'status'>, role: PodRole): Diagnosis | undefined => {
  const target = status?.conditions?.find(
    (condition) => condition.type === 'DisruptionTarget' && condition.status === 'True',
  )
  const reason = status?.reason ?? ''
  if (target?.reason === 'DeletionByPodGC' || reason === 'NodeLost') {
    return seriousDiagnosis('NodeLost', `The node of the ${role} was lost.`, target?.message ?? status?.message)
  }
  if (reason === 'Evicted' || target !== undefined) {
    return seriousDiagnosis(
      'Evicted',
      `The cluster evicted the ${role}.`,
      status?.message ?? join(target?.reason, target?.message),
    )
  }
  if (reason === 'Terminated' || reason === 'NodeShutdown' || reason === 'Shutdown') {
    return seriousDiagnosis('Evicted', `The node of the ${role} was shut down.`, status?.message)
  }
  return kubeletRefusals.test(reason)
    ? seriousDiagnosis('NodeRefused', `The node did not admit the ${role}.`, join(reason, status?.message))
    : undefined
}

/** The reasons of `explainDisruption`. */
export const disruptionReasons: readonly string[] = ['Evicted', 'NodeLost', 'NodeRefused']

/** The diagnosis of a pod name that a stranger uses. */
export const podNameTaken = (name: string): Diagnosis =>
  seriousDiagnosis('PodNameTaken', `Pod ${name} belongs to another owner. Ask the platform operator to delete it.`)
