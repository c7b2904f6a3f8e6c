import { type Diagnosis, pendingDiagnosis, seriousDiagnosis } from '#operator/pods/diagnosis.ts'
import type { Pod } from '#operator/pods/pod.ts'
import { publicPorts } from '#shared/domain/ports.ts'
import type { WorldRun } from '#shared/resources/world.ts'
import { remedies } from '#shared/why/remedies.ts'
import type { PlanInput } from './step.ts'

/** The time for which a pod is without a node because of its host ports, before it is replaced: the first times, and later. */
const firstPatienceMs = 5_000
const laterPatienceMs = 60_000

/** The number of pods of a run that are replaced soon, before the world is PortsExhausted. */
const soonReplaced = 5

const pending = pendingDiagnosis('HostPortPending', 'Looking for a node with free host ports.')
const exhausted = seriousDiagnosis(
  'PortsExhausted',
  `No node with free host ports was found for the server. ${remedies.PortsExhausted}`,
)
const taken = seriousDiagnosis('PortTaken', `A host port of the policy Static is in use. ${remedies.PortTaken}`)

/** The diagnosis of a world for whose ports a range is too small. */
export const rangeTooSmall = seriousDiagnosis(
  'PortsExhausted',
  'The range of host ports has fewer ports than the world. Lower the number of its public ports, or ask the platform operator.',
)

/** Returns why a server waits, if it waits for host ports: its pod found no node with them, or one was replaced for that. */
export const explainHostPortWait = (
  { hostPorts }: PlanInput,
  pod: Pod | undefined,
  run: WorldRun,
): Diagnosis | undefined => {
  if (run.strategy !== 'HostPort' || pod?.spec?.nodeName !== undefined) return undefined
  const replaced = hostPorts.replaced(run.id)
  const refusal = pod && findRefusal(pod)
  if (refusal === undefined ? replaced === 0 : !refusal.isForPorts) return undefined
  const isStatic = publicPorts(run.ports).filter(({ policy }) => policy === 'Static')
  if (isStatic.length === publicPorts(run.ports).length) return taken
  if (replaced < soonReplaced) return pending
  return isStatic.length > 0 ? taken : exhausted
}

/**
 * Returns the delay after which a pod without a node is replaced by one with other host ports: 0 if it is time. Undefined if its host
 * ports are not the cause, or all of them are Static, so that the next pod would have the same.
 */
export const replaceAfterMs = ({ hostPorts, nowMs }: PlanInput, pod: Pod, run: WorldRun): number | undefined => {
  const refusal = findRefusal(pod)
  const canMove = publicPorts(run.ports).some(({ policy }) => policy !== 'Static')
  if (run.strategy !== 'HostPort' || !canMove || refusal?.isForPorts !== true) return undefined
  const patienceMs = hostPorts.replaced(run.id) < soonReplaced ? firstPatienceMs : laterPatienceMs
  return Math.max(0, refusal.sinceMs + patienceMs - nowMs)
}

/** Returns since when the scheduler finds no node for a pod, and whether host ports are a cause. */
const findRefusal = ({ metadata, spec, status }: Pod) => {
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled')
  if (spec?.nodeName !== undefined || scheduled?.status !== 'False' || scheduled.reason !== 'Unschedulable')
    return undefined
  return {
    sinceMs: Date.parse(scheduled.lastTransitionTime ?? metadata.creationTimestamp ?? ''),
    // The words of the scheduler's plugin NodePorts for a node on which a port is taken, by a server or by a stranger.
    isForPorts: /free ports/.test(scheduled.message ?? ''),
  }
}
