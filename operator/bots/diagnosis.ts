import type { KubeError } from '#shared/kube/errors.ts'
import type { BotPod } from './pod.ts'

/** Why something is not as it should be: a CamelCase word for programs and a sentence for people. */
export type Diagnosis = { readonly reason: string; readonly message: string }

/** Whether the pod is Ready. */
export const isReady = (pod: BotPod): boolean =>
  pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false

/** Whether the cluster took the pod away (eviction, preemption, node shutdown) rather than the bot failing by itself. */
export const wasDisrupted = ({ status }: BotPod): boolean =>
  (status?.conditions?.some((condition) => condition.type === 'DisruptionTarget' && condition.status === 'True') ??
    false) ||
  ['Evicted', 'NodeLost', 'NodeShutdown', 'Shutdown', 'Terminated'].includes(status?.reason ?? '') ||
  /^(OutOf|NodeAffinity|UnexpectedAdmissionError)/.test(status?.reason ?? '')

/** How long the bot of an ended pod ran, in milliseconds; 0 where nobody knows. */
export const ranForMs = (pod: BotPod): number => {
  const ended = terminated(pod)
  return Date.parse(ended?.finishedAt ?? '') - Date.parse(ended?.startedAt ?? '') || 0
}

const terminated = (pod: BotPod) => pod.status?.containerStatuses?.[0]?.state?.terminated

/** How a bot failed. */
export const explainFailure = (pod: BotPod): string => {
  const ended = terminated(pod)
  if (ended?.reason === 'OOMKilled') return 'it needed more memory than it may use'
  if (ended === undefined) return `it was ended${inBrackets(pod.status?.reason)}${afterColon(pod.status?.message)}`
  return `it ended with exit code ${ended.exitCode ?? 'unknown'}${inBrackets(ended.reason)}`
}

/** Why a bot will not become Ready by waiting alone; undefined where it is on its way. */
export const explainTrouble = (pod: BotPod): Diagnosis | undefined => {
  const scheduled = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled')
  if (scheduled?.status === 'False') {
    return { reason: 'Unschedulable', message: `no node takes it${afterColon(scheduled.message)}` }
  }
  const waiting = pod.status?.containerStatuses?.[0]?.state?.waiting
  if (waiting?.reason === undefined || ['ContainerCreating', 'PodInitializing'].includes(waiting.reason))
    return undefined
  return /Image|ErrPull/.test(waiting.reason)
    ? { reason: 'ImagePullFailed', message: `its image cannot be pulled${afterColon(pullCause(waiting.message))}` }
    : {
        reason: 'ContainerCannotStart',
        message: `its container cannot start (${waiting.reason})${afterColon(waiting.message)}`,
      }
}

/** The kubelet tells a failed pull in turns by itself and after these words; the same thing is to be told once. */
const pullCause = (message: string | undefined): string | undefined =>
  message?.replace(/^Back-off pulling image "[^"]*"(: )?/, '').replace(/^(ErrImagePull: |ImagePullBackOff: )+/, '')

/** Why the API server refused a bot's pod; the words are those of Kubernetes' admission plugins. */
export const explainRefusal = ({ message }: KubeError): Diagnosis => {
  if (/exceeded quota|failed quota|status unknown for quota/.test(message)) {
    return { reason: 'QuotaExceeded', message: `the quota of the namespace leaves no room for more bots: ${message}` }
  }
  if (/because it is being terminated/.test(message)) {
    return { reason: 'NamespaceTerminating', message: `the namespace is being deleted and takes no bots: ${message}` }
  }
  if (/admission webhook|failed calling webhook|ValidatingAdmissionPolicy|violates PodSecurity|denied/.test(message)) {
    return { reason: 'AdmissionRefused', message: `a policy of the cluster refused a bot: ${message}` }
  }
  return { reason: 'Refused', message: `the API server refused a bot: ${message}` }
}

const inBrackets = (text: string | undefined): string => (text ? ` (${text})` : '')
const afterColon = (text: string | undefined): string => (text ? `: ${text}` : '')
