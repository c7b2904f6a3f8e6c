import type { V1Node } from '@kubernetes/client-node'
import { isHost } from '#shared/kube/names.ts'
import type { KubeObjectOf } from '#shared/kube/objects.ts'
import { withDefined } from '#shared/optional.ts'
import { nodeAddressAnnotation } from '#shared/resources/group.ts'
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

/**
 * The kinds of addresses that a node reports. `ExternalIP` and `InternalIP` are the first address of that type, and the kinds with a
 * version the first of that version.
 */
export const nodeAddressTypes = ['ExternalIP', 'InternalIP']
  .flatMap((type) => [type, `${type}v4`, `${type}v6`])
  .concat('ExternalDNS', 'InternalDNS', 'Hostname')

/**
 * Returns the address of a node: that of its annotation `orrery.dev/address`, or else the first that it reports, in the order of
 * `types`. Returns a fault, as the end of a sentence, for a node without one.
 */
export const nodeAddress = (
  node: Node | 'gone' | undefined,
  types: readonly string[],
): { readonly host: string } | { readonly fault: string } => {
  const none = { fault: 'it reports none' }
  if (node === undefined || node === 'gone') return none
  const given = node.metadata.annotations?.[nodeAddressAnnotation]
  if (given !== undefined) {
    const fault = `its annotation ${nodeAddressAnnotation} is neither an IP address nor a DNS name`
    return isHost(given) ? { host: given } : { fault }
  }
  const addresses = node.status?.addresses ?? []
  const find = (wanted: string): string | undefined => {
    const [, type = wanted, version] = /^(.*)v([46])$/.exec(wanted) ?? []
    const fits = (address: string): boolean =>
      address !== '' && (version === undefined || address.includes(':') === (version === '6'))
    return addresses.find((each) => each.type === type && fits(each.address))?.address
  }
  const host = types.map(find).find((address) => address !== undefined)
  return host === undefined ? none : { host }
}

/** Returns a digest of the fields of a node that its pods depend on. */
export const nodeDigest = (node: Node): string =>
  JSON.stringify([
    node.metadata.uid,
    node.status?.conditions?.find(({ type }) => type === 'Ready')?.status,
    isOutOfService(node),
    node.metadata.annotations?.[nodeAddressAnnotation],
    node.status?.addresses,
  ])
