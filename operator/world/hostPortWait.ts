import { type Diagnosis, seriousDiagnosis } from '#operator/pods/diagnosis.ts'
import type { Node } from '#operator/pods/node.ts'
import type { Pod } from '#operator/pods/pod.ts'
import { remedies } from '#shared/resources/remedies.ts'
import type { WorldRun } from '#shared/resources/world.ts'
import { placeServer } from './placement.ts'
import type { PlanInput } from './step.ts'

/** The time for which a pod is without a node before its host ports count as the cause. */
const patienceMs = 5_000

/** The delay after which the cause is looked for again. */
const checkAgainMs = 15_000

/** The number of pods of a run that are replaced because of their host ports. */
const maxReplaced = 5

/** The diagnosis of a world for which no node has free host ports. */
export const hostPortsExhausted = seriousDiagnosis(
  'PortsExhausted',
  `No node has free host ports for the server. ${remedies.PortsExhausted}`,
)

const portTaken = seriousDiagnosis(
  'PortTaken',
  `Another world uses a host port of the policy Static. The server starts when the port is free. ${remedies.PortTaken}`,
)

/**
 * Returns why a server has no node, if its host ports are the cause: `replace` if a pod with other ports may find one. They are the
 * cause if they are used on every node that the server may run on, or on one of them and the scheduler says so.
 */
export const explainHostPortWait = (input: PlanInput, pod: Pod, run: WorldRun): Diagnosis | 'replace' | undefined => {
  const sinceMs = unscheduledSinceMs(pod, run)
  if (sinceMs === undefined || input.nowMs - sinceMs < patienceMs || !arePortsCause(input, pod, run)) return undefined
  // Another pod would have the same static ports.
  if (input.hostPorts.nodesInUse(run.ports.flatMap(({ hostPort }) => hostPort ?? [])).size > 0) return portTaken
  return input.hostPorts.replaced(run.id) < maxReplaced ? 'replace' : hostPortsExhausted
}

/** Returns the delay after which `explainHostPortWait` may have another result, or undefined if the pod has a node. */
export const nextHostPortCheckMs = ({ nowMs }: PlanInput, pod: Pod, run: WorldRun): number | undefined => {
  const sinceMs = unscheduledSinceMs(pod, run)
  if (sinceMs === undefined) return undefined
  const leftMs = sinceMs + patienceMs - nowMs
  return leftMs > 0 ? leftMs : checkAgainMs
}

/** Returns when the scheduler first found no node for a server with host ports, in epoch milliseconds. */
const unscheduledSinceMs = (pod: Pod, { strategy }: WorldRun): number | undefined => {
  const scheduled = findScheduled(pod)
  if (strategy !== 'HostPort' || pod.spec?.nodeName !== undefined) return undefined
  if (scheduled?.status !== 'False' || scheduled.reason !== 'Unschedulable') return undefined
  return Date.parse(scheduled.lastTransitionTime ?? pod.metadata.creationTimestamp ?? '')
}

const findScheduled = ({ status }: Pod) => status?.conditions?.find(({ type }) => type === 'PodScheduled')

const arePortsCause = ({ hostPorts, nodes, settings }: PlanInput, pod: Pod, run: WorldRun): boolean => {
  const inUse = hostPorts.nodesInUse()
  if (inUse.size === 0) return false
  const { nodeSelector = {} } = placeServer(settings.placement, run.compute).spec
  const usable = nodes().filter((node) => isUsable(node, nodeSelector))
  const taken = usable.filter(({ metadata: { name } }) => inUse.has(name))
  return taken.length > 0 && (taken.length === usable.length || /free ports/.test(findScheduled(pod)?.message ?? ''))
}

const isUsable = ({ metadata, spec, status }: Node, selector: Readonly<Record<string, string>>): boolean =>
  spec?.unschedulable !== true &&
  status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True' &&
  Object.entries(selector).every(([key, value]) => metadata.labels?.[key] === value)
