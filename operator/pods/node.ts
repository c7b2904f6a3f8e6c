import type { V1Node } from '@kubernetes/client-node'
import type { KubeObjectOf } from '#shared/kube/objects.ts'
import { withDefined } from '#shared/optional.ts'
import type { Pod } from './pod.ts'

/** A Node of the core API. */
export type Node = KubeObjectOf<V1Node>

/**
 * The state of the node under a pod:
 * - `reachable`: its kubelet reports, or the pod has no node yet;
 * - `unreachable`: its kubelet does not report, so the pod may still run;
 * - `dead`: the pod no longer runs, according to the cluster or an administrator.
 */
export type NodeState =
  | { readonly kind: 'reachable' }
  | { readonly kind: 'unreachable'; readonly name: string; readonly since: string; readonly forceAtMs?: number }
  | { readonly kind: 'dead'; readonly name: string; readonly why: string }

/** An administrator's statement that a node is off (Kubernetes, "Non-graceful node shutdown handling"). */
const outOfServiceTaint = 'node.kubernetes.io/out-of-service'

/**
 * Returns the state of the node under a pod. `gone` stands for a node without an object. After `nodeLostForceMs` without
 * a report a node counts as dead; with 0 it never does.
 */
export const observeNode = (
  pod: Pod,
  node: Node | 'gone' | undefined,
  nodeLostForceMs: number,
  nowMs: number,
): NodeState => {
  const name = pod.spec?.nodeName
  if (name === undefined || node === undefined) return { kind: 'reachable' }
  if (node === 'gone') return { kind: 'dead', name, why: `Node ${name} is gone.` }
  const ready = node.status?.conditions?.find(({ type }) => type === 'Ready')
  if (ready === undefined || ready.status === 'True') return { kind: 'reachable' }
  if (isOutOfService(node)) return { kind: 'dead', name, why: `Node ${name} is marked as out of service.` }
  // With False the kubelet still reports, and ends its pods itself.
  if (ready.status !== 'Unknown') return { kind: 'reachable' }
  const since = ready.lastTransitionTime ?? node.metadata.creationTimestamp ?? ''
  const forceAtMs = nodeLostForceMs === 0 ? undefined : Date.parse(since) + nodeLostForceMs
  if (forceAtMs === undefined || nowMs < forceAtMs) {
    return withDefined({ kind: 'unreachable' as const, name, since, forceAtMs })
  }
  return { kind: 'dead', name, why: `Node ${name} has not reported for longer than ORRERY_NODE_LOST_FORCE_MS.` }
}

const isOutOfService = ({ spec }: Node): boolean => spec?.taints?.some(({ key }) => key === outOfServiceTaint) ?? false

/** Returns the external address of a node, or else its internal one. */
export const nodeAddress = (node: Node | 'gone' | undefined): string | undefined => {
  if (node === undefined || node === 'gone') return undefined
  const addresses = node.status?.addresses ?? []
  return ['ExternalIP', 'InternalIP']
    .map((wanted) => addresses.find(({ type }) => type === wanted)?.address)
    .find((address) => address !== undefined)
}

/** Returns a digest of the fields of a node that its pods depend on. */
export const nodeDigest = (node: Node): string =>
  JSON.stringify([
    node.metadata.uid,
    node.status?.conditions?.find(({ type }) => type === 'Ready')?.status,
    isOutOfService(node),
    nodeAddress(node),
  ])
