import { type Diagnosis, serious } from '#operator/refusal.ts'
import { afterColon, inBrackets } from '#operator/telling.ts'
import { explainDisruption, pullCause } from '#operator/world/diagnosis.ts'
import type { BotPod } from './pod.ts'

/** Whether the pod is Ready. */
export const isReady = (pod: BotPod): boolean =>
  pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false

/** Whether the cluster took the pod away (eviction, preemption, node shutdown) rather than the bot failing by itself. */
export const wasDisrupted = (pod: BotPod): boolean => explainDisruption(pod) !== undefined

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
    return serious('Unschedulable', `no node takes it${afterColon(scheduled.message)}`)
  }
  const waiting = pod.status?.containerStatuses?.[0]?.state?.waiting
  if (waiting?.reason === undefined || ['ContainerCreating', 'PodInitializing'].includes(waiting.reason))
    return undefined
  return /Image|ErrPull/.test(waiting.reason)
    ? serious('ImagePullFailed', `its image cannot be pulled${afterColon(pullCause(waiting.message))}`)
    : serious('ContainerCannotStart', `its container cannot start (${waiting.reason})${afterColon(waiting.message)}`)
}
