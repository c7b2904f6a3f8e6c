import { isConflict, isThrottled, KubeError } from '#shared/kube/errors.ts'
import type { ContainerStatus, Pod } from './pod.ts'

/** Why something is not as it should be: a CamelCase word for programs and a sentence for people. */
export type Diagnosis = {
  readonly reason: string
  readonly message: string
  /** Waiting alone may not mend it: somebody should look. */
  readonly serious: boolean
}

const serious = (reason: string, message: string): Diagnosis => ({ reason, message, serious: true })
const patient = (reason: string, message: string): Diagnosis => ({ reason, message, serious: false })

/** Why a pod is not Ready yet. The first that applies is the answer. */
export const explainWaiting = (pod: Pod): Diagnosis => {
  const scheduled = pod.status?.conditions?.find((condition) => condition.type === 'PodScheduled')
  if (scheduled?.status === 'False') {
    const reason = scheduled.reason === 'SchedulingGated' ? 'SchedulingGated' : 'Unschedulable'
    return serious(reason, `waiting for a node${afterColon(scheduled.message)}`)
  }
  const waiting = serverContainer(pod)?.state?.waiting
  if (waiting?.reason !== undefined && !ordinaryWaits.includes(waiting.reason)) return explainContainer(pod, waiting)
  if (pod.spec?.nodeName === undefined) return patient('Starting', 'waiting for a node')
  if (pod.status?.phase !== 'Running') return patient('Starting', 'waiting for the server to start')
  return patient('Starting', 'waiting for the server to become ready')
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

const explainContainer = (pod: Pod, { reason = '', message }: { reason?: string; message?: string }): Diagnosis => {
  if (imageFaults.includes(reason)) {
    const image = pod.spec?.containers?.find(({ name }) => name === serverContainerName)?.image
    return serious(
      'ImagePullFailed',
      `waiting for the image ${image ?? 'of the server'}, which cannot be pulled${afterColon(cause(message))}`,
    )
  }
  if (reason === 'CrashLoopBackOff')
    return serious('CrashLoop', `the server fails again and again${afterColon(message)}`)
  return serious('ContainerCannotStart', `waiting for the server's container (${reason})${afterColon(message)}`)
}

/** The kubelet tells a failed pull in turns by itself and after these words; the same thing is to be told once. */
const cause = (message: string | undefined): string | undefined =>
  message?.replace(/^Back-off pulling image "[^"]*"(: )?/, '').replace(/^(ErrImagePull: |ImagePullBackOff: )+/, '')

/** How a pod failed, and whether the cluster took it away rather than the server failing by itself. */
export const explainFailure = (pod: Pod): Diagnosis & { readonly disrupted: boolean } => {
  const disruption = explainDisruption(pod)
  if (disruption !== undefined) return { ...disruption, disrupted: true }
  const terminated = serverContainer(pod)?.state?.terminated
  if (terminated?.reason === 'OOMKilled') {
    const limit = pod.spec?.containers?.find(({ name }) => name === serverContainerName)?.resources?.limits?.memory
    const most = limit === undefined ? '' : `, and its profile allows ${limit}`
    return { ...serious('OutOfMemory', `the server needed more memory than it may use${most}`), disrupted: false }
  }
  const how =
    terminated === undefined
      ? `the server was ended${inBrackets(pod.status?.reason)}${afterColon(pod.status?.message)}`
      : `the server ended with exit code ${terminated.exitCode ?? 'unknown'}${inBrackets(terminated.reason)}`
  return { ...serious('ServerFailed', how), disrupted: false }
}

/** Words by which a kubelet says that it did not take a pod at all. */
const kubeletRefusals =
  /^(OutOf|NodeAffinity|NodeName|NodePorts|UnexpectedAdmissionError|Unexpected|PodFeature|Topology)/

const explainDisruption = ({ status }: Pod): Diagnosis | undefined => {
  const target = status?.conditions?.find(({ type, status: holds }) => type === 'DisruptionTarget' && holds === 'True')
  const word = status?.reason ?? ''
  if (target?.reason === 'DeletionByPodGC' || word === 'NodeLost') {
    return serious('NodeLost', `the server was lost with its node${afterColon(target?.message ?? status?.message)}`)
  }
  if (word === 'Evicted' || target !== undefined) {
    const why = status?.message ?? target?.message ?? target?.reason
    return serious('Evicted', `the cluster took the server away${afterColon(why)}`)
  }
  if (word === 'Terminated' || word === 'NodeShutdown' || word === 'Shutdown') {
    return serious('Evicted', `the node of the server was shut down${afterColon(status?.message)}`)
  }
  return kubeletRefusals.test(word)
    ? serious('NodeRefused', `the node did not take the server (${word})${afterColon(status?.message)}`)
    : undefined
}

/** Whether the API server understood a write and would not have it, so that repeating it as it is needs luck. */
export const isRefusal = (error: unknown): error is KubeError => {
  if (!(error instanceof KubeError) || isConflict(error) || isThrottled(error)) return false
  if (error.status === 500) return error.message.includes('failed calling webhook')
  return error.status === 400 || error.status === 403 || error.status === 405 || error.status === 422
}

/** Why the API server refused a write; the words are those of Kubernetes' admission plugins. */
export const explainRefusal = (error: KubeError, what: string): Diagnosis => {
  // The request that the error names first is for the log alone.
  const text = error.message.replace(/^[A-Z]+ \/\S*: /, '')
  if (/exceeded quota|failed quota|status unknown for quota/.test(text)) {
    return serious('QuotaExceeded', `the quota of the namespace leaves no room for ${what}: ${text}`)
  }
  if (/because it is being terminated/.test(text)) {
    return serious('NamespaceTerminating', `the namespace is being deleted and takes no ${what}: ${text}`)
  }
  if (error.status === 403 && / cannot \w+ resource /.test(text)) {
    return serious('NotPermitted', `the operator may not do this, and needs a role that allows it: ${text}`)
  }
  if (/admission webhook|failed calling webhook|ValidatingAdmissionPolicy|violates PodSecurity|denied/.test(text)) {
    return serious('AdmissionRefused', `a policy of the cluster refused ${what}: ${text}`)
  }
  return serious('Refused', `the API server refused ${what}: ${text}`)
}

/** The reasons of `explainRefusal` and of a name that a stranger holds: no pod could be made. */
export const refusalReasons: readonly string[] = [
  'QuotaExceeded',
  'NamespaceTerminating',
  'NotPermitted',
  'AdmissionRefused',
  'Refused',
  'PodNameTaken',
]

/** The server's own container among what a mesh may have added. */
const serverContainerName = 'server'
const serverContainer = (pod: Pod): ContainerStatus | undefined => {
  const all = pod.status?.containerStatuses
  return all?.find(({ name }) => name === serverContainerName) ?? all?.[0]
}

const inBrackets = (text: string | undefined): string => (text ? ` (${text})` : '')
const afterColon = (text: string | undefined): string => (text ? `: ${text}` : '')
