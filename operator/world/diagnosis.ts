import { type Diagnosis, serious } from '#operator/refusal.ts'
import { afterColon, inBrackets } from '#operator/telling.ts'
import type { ContainerStatus, Pod } from './pod.ts'

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
      `waiting for the image ${image ?? 'of the server'}, which cannot be pulled${afterColon(pullCause(message))}`,
    )
  }
  if (reason === 'CrashLoopBackOff')
    return serious('CrashLoop', `the server fails again and again${afterColon(message)}`)
  return serious('ContainerCannotStart', `waiting for the server's container (${reason})${afterColon(message)}`)
}

/**
 * Why an image cannot be pulled. The kubelet tells it in turns by itself and after these words; the same thing is to be
 * told once.
 */
export const pullCause = (message: string | undefined): string | undefined =>
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

/** How the cluster took a pod away; undefined where it did not. */
export const explainDisruption = ({ status }: Pick<Pod, 'status'>): Diagnosis | undefined => {
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

/** The server's own container among what a mesh may have added. */
const serverContainerName = 'server'
const serverContainer = (pod: Pod): ContainerStatus | undefined => {
  const all = pod.status?.containerStatuses
  return all?.find(({ name }) => name === serverContainerName) ?? all?.[0]
}
