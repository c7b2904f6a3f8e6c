import type { Client } from '#shared/kube/client.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { fieldManagers, labels, namespaceOf } from '#shared/resources/group.ts'

type Applied = KubeObject & { spec?: unknown }
export type NamespaceClients = { readonly namespaces: Client<Applied>; readonly networkPolicies: Client<Applied> }

/** Makes sure that an organization's namespace and its network policy are there; asks the cluster once a process. */
export const createNamespaces = (clients: NamespaceClients, options: { prefix: string; publicUrl: string }) => {
  const known = new Set<string>()
  return {
    ensure: async (organizationId: string): Promise<void> => {
      if (known.has(organizationId)) return
      const name = namespaceOf(options.prefix, organizationId)
      const as = { fieldManager: fieldManagers.api, force: true }
      await clients.namespaces.apply(namespace(name, organizationId), as)
      for (const policy of networkPolicies(name, options.publicUrl)) await clients.networkPolicies.apply(policy, as)
      known.add(organizationId)
    },
    /** Forgets what was seen, so that a namespace deleted behind our back is made again. */
    forget: (organizationId: string): void => {
      known.delete(organizationId)
    },
  }
}

const namespace = (name: string, organizationId: string): Applied => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: {
    name,
    labels: {
      [labels.organization]: organizationId,
      [labels.managedBy]: 'orrery-api',
      'pod-security.kubernetes.io/enforce': 'restricted',
      'pod-security.kubernetes.io/enforce-version': 'latest',
    },
  },
})

const games = [
  { port: 7777, protocol: 'TCP' },
  { port: 7777, protocol: 'UDP' },
]
const worlds = { matchLabels: { [labels.component]: 'world' } }
const bots = { matchLabels: { [labels.component]: 'bot' } }
const anyPod = {}

/** Default deny, plus what a world needs: players in, bots to worlds, the operator to the probes, names, the API. */
const networkPolicies = (namespaceName: string, publicUrl: string): Applied[] => {
  const { port, protocol } = new URL(publicUrl)
  const apiPort = Number(port || (protocol === 'https:' ? 443 : 80))
  const policy = (name: string, spec: object): Applied => ({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name, namespace: namespaceName, labels: { [labels.managedBy]: 'orrery-api' } },
    spec,
  })
  return [
    policy('default-deny', { podSelector: anyPod, policyTypes: ['Ingress', 'Egress'] }),
    policy('worlds', {
      podSelector: worlds,
      policyTypes: ['Ingress'],
      ingress: [
        { ports: games },
        {
          ports: [{ port: 8080, protocol: 'TCP' }],
          from: [
            {
              namespaceSelector: {},
              podSelector: { matchLabels: { [labels.name]: 'orrery-operator' } },
            },
          ],
        },
      ],
    }),
    policy('bots', {
      podSelector: bots,
      policyTypes: ['Egress'],
      egress: [{ ports: games, to: [{ podSelector: worlds }] }],
    }),
    policy('names-and-api', {
      podSelector: anyPod,
      policyTypes: ['Egress'],
      egress: [
        {
          ports: [
            { port: 53, protocol: 'UDP' },
            { port: 53, protocol: 'TCP' },
          ],
        },
        { ports: [{ port: apiPort, protocol: 'TCP' }] },
      ],
    }),
  ]
}
