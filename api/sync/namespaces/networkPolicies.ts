import { isIP } from 'node:net'
import { parseNetwork, toBlockList } from '#api/platform/http/networks.ts'
import { healthPort, podPortsOf } from '#shared/domain/ports.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { podSelectors } from '#shared/resources/selectors.ts'

/** The destinations that servers and bots may reach in addition to each other. */
export type NetworkOptions = {
  /** The URL at which servers reach the API. */
  readonly publicUrl: string
  /** The port of the API's own pods, which a ClusterIP leads to. */
  readonly apiPort: number
  /** Networks (CIDR) of the API's public address, in addition to the address that `publicUrl` names. */
  readonly apiNetworks: readonly string[]
  /** Networks (CIDR) of DNS servers that are not pods of kube-system. */
  readonly dnsNetworks: readonly string[]
}

/** The Kubernetes users of the two processes. */
export type ProcessUsers = { readonly api: string; readonly operator: string }

/** A NetworkPolicy of the API. */
export type NetworkPolicy = KubeObject & { spec: object }

const worlds = { matchLabels: podSelectors.servers }
const bots = { matchLabels: podSelectors.bots }
const anyPod = {}
const namespaceNamed = (name: string) => ({ matchLabels: { 'kubernetes.io/metadata.name': name } })
const clusterDns = {
  namespaceSelector: namespaceNamed('kube-system'),
  podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } },
}

/** Returns the pods of a process as peers: those in the namespace of its service account. Other users have no pods. */
const podsOf = (process: keyof ProcessUsers, users: ProcessUsers): object[] => {
  const [, namespace] = /^system:serviceaccount:([^:]+):[^:]+$/.exec(users[process]) ?? []
  if (namespace === undefined) return []
  const podSelector = { matchLabels: podSelectors.process(process) }
  return [{ namespaceSelector: namespaceNamed(namespace), podSelector }]
}

/** Returns the rule for these peers, or none without peers: a rule with an empty list allows every peer. */
const ruleFor = (side: 'from' | 'to', peers: readonly object[], ports: readonly object[]): object[] =>
  peers.length === 0 ? [] : [{ ports, [side]: peers }]

/**
 * Returns the policies of an organization's namespace: default deny, plus players and bots to the public ports of worlds, the
 * operator to their internal ports and the probes, DNS and the API. Only public ports are open to every peer. Link-local and metadata
 * addresses are never destinations.
 */
export const networkPolicies = (namespace: string, options: NetworkOptions, users: ProcessUsers): NetworkPolicy[] => {
  const policy = (name: string, spec: object): NetworkPolicy => ({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name, namespace },
    spec,
  })
  return [
    policy('default-deny', { podSelector: anyPod, policyTypes: ['Ingress', 'Egress'] }),
    policy('worlds', {
      podSelector: worlds,
      policyTypes: ['Ingress'],
      ingress: [
        { ports: podPortsOf('Public') },
        ...ruleFor('from', podsOf('operator', users), [
          { port: healthPort, protocol: 'TCP' },
          ...podPortsOf('Internal'),
        ]),
      ],
    }),
    policy('bots', {
      podSelector: bots,
      policyTypes: ['Egress'],
      // The policy of the worlds limits the ports.
      egress: [{ to: [{ podSelector: worlds }] }],
    }),
    policy('names-and-api', { podSelector: anyPod, policyTypes: ['Egress'], egress: namesAndApi(options, users) }),
  ]
}

const namesAndApi = (
  { publicUrl, apiPort, apiNetworks, dnsNetworks }: NetworkOptions,
  users: ProcessUsers,
): object[] => {
  const { port, protocol, hostname } = new URL(publicUrl)
  const publicPort = Number(port || (protocol === 'https:' ? 443 : 80))
  const address = networkOf(hostname.replace(/^\[|\]$/g, ''))
  const networks = [...(address === undefined ? [] : [address]), ...apiNetworks]
  return [
    {
      ports: [
        { port: 53, protocol: 'UDP' },
        { port: 53, protocol: 'TCP' },
      ],
      to: [clusterDns, ...dnsNetworks.map(ipBlock)],
    },
    // A policy sees the pod behind a ClusterIP where kube-proxy rewrites the address first.
    ...ruleFor('to', podsOf('api', users), [{ port: apiPort, protocol: 'TCP' }]),
    ...ruleFor('to', networks.map(ipBlock), [{ port: publicPort, protocol: 'TCP' }]),
  ]
}

const networkOf = (host: string): string | undefined => {
  const version = isIP(host)
  return version === 0 ? undefined : `${host}/${version === 4 ? 32 : 128}`
}

/** Link-local networks (RFC 3927, RFC 4291), and the metadata addresses of clouds that are outside them. */
const withheld = ['169.254.0.0/16', '100.100.100.200/32', 'fe80::/10', 'fd00:ec2::254/128']

const ipBlock = (cidr: string): object => {
  const except = withheld.filter((each) => isWithin(each, cidr))
  return { ipBlock: { cidr, ...(except.length === 0 ? {} : { except }) } }
}

/** Reports whether a network is a proper part of another: `except` must not be the whole of its block. */
const isWithin = (inner: string, outer: string): boolean => {
  const [part, whole] = [parseNetwork(inner), parseNetwork(outer)]
  if (part === undefined || part.family !== whole?.family || part.prefixLength <= whole.prefixLength) return false
  return toBlockList([outer]).check(part.address, part.family)
}
