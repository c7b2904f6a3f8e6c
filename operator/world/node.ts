import type { ObjectMeta } from '#shared/kube/objects.ts'
import type { Pod } from './pod.ts'
import type { WorldSettings } from './settings.ts'

/** The part of a Node that the operator reads. */
export type Node = {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
  spec?: { taints?: { key: string; effect?: string }[] }
  status?: {
    conditions?: { type: string; status: string; lastTransitionTime?: string }[]
    addresses?: { type: string; address: string }[]
  }
}

/**
 * What is known of the node under a pod:
 * - `seen`: its kubelet reports, or the pod is on no node yet;
 * - `unseen`: nothing is heard of it, so the server there may or may not still run;
 * - `dead`: no server runs there any more, by the word of the cluster or of an administrator.
 */
export type NodeView =
  | { readonly kind: 'seen' }
  | { readonly kind: 'unseen'; readonly name: string; readonly since: string; readonly forceAtMs?: number }
  | { readonly kind: 'dead'; readonly name: string; readonly why: string }

/** An administrator's word that a node is off and stays off (Kubernetes, "Non-graceful node shutdown handling"). */
const outOfServiceTaint = 'node.kubernetes.io/out-of-service'

/** Judges the node under a pod; `gone` is a node that has no object any more. */
export const observeNode = (
  pod: Pod,
  node: Node | 'gone' | undefined,
  settings: Pick<WorldSettings, 'nodeLostForceMs'>,
  nowMs: number,
): NodeView => {
  const name = pod.spec?.nodeName
  if (name === undefined || node === undefined) return { kind: 'seen' }
  if (node === 'gone') return { kind: 'dead', name, why: `its node ${name} is gone` }
  const ready = node.status?.conditions?.find(({ type }) => type === 'Ready')
  if (ready === undefined || ready.status === 'True') return { kind: 'seen' }
  if (node.spec?.taints?.some(({ key }) => key === outOfServiceTaint)) {
    return { kind: 'dead', name, why: `its node ${name} is marked as out of service` }
  }
  // A node that says False is heard of, and ends its pods itself.
  if (ready.status !== 'Unknown') return { kind: 'seen' }
  const since = ready.lastTransitionTime ?? node.metadata.creationTimestamp ?? ''
  if (settings.nodeLostForceMs === 0) return { kind: 'unseen', name, since }
  const forceAtMs = Date.parse(since) + settings.nodeLostForceMs
  return nowMs >= forceAtMs
    ? { kind: 'dead', name, why: `its node ${name} was out of sight for longer than ORRERY_NODE_LOST_FORCE_MS allows` }
    : { kind: 'unseen', name, since, forceAtMs }
}

/** Where a node is reached from outside, best first: its external address, else its internal one. */
export const nodeAddress = (node: Node | 'gone' | undefined): string | undefined => {
  if (node === undefined || node === 'gone') return undefined
  const addresses = node.status?.addresses ?? []
  return ['ExternalIP', 'InternalIP']
    .map((wanted) => addresses.find(({ type }) => type === wanted)?.address)
    .find((address) => address !== undefined)
}

/** What of a node matters to the worlds on it; a change of anything else is none of their business. */
export const nodeDigest = (node: Node): string =>
  JSON.stringify([
    node.metadata.uid,
    node.status?.conditions?.find(({ type }) => type === 'Ready')?.status,
    node.spec?.taints?.some(({ key }) => key === outOfServiceTaint) ?? false,
    nodeAddress(node),
  ])
