import type { Service } from '#operator/pods/service.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { withDefined } from '#shared/optional.ts'
import { labels } from '#shared/resources/group.ts'

/** Addresses that no host has, by family: of TEST-NET-2 (RFC 5737) and of the discard prefix (RFC 6666). */
const addresses = { IPv4: '198.51.100.1', IPv6: '100::1' } as const

/**
 * Builds the EndpointSlices with the placeholder of a Service whose server has ended, one for each family of addresses, or none
 * without a UDP port. kube-proxy removes gone servers from the tracked UDP connections of a Service only if the Service has an
 * endpoint that serves. It sends no traffic to an endpoint that serves but is neither ready nor terminating. The garbage collector
 * deletes the slices after the Service.
 */
export const buildPlaceholders = ({ metadata, spec }: Service): KubeObject[] => {
  const ports = (spec?.ports ?? [])
    .filter(({ protocol }) => protocol === 'UDP')
    .map(({ name, protocol, port }) => ({ name, protocol, port }))
  if (ports.length === 0) return []
  return Object.entries(addresses).map(([addressType, address]) => {
    const { name, namespace, uid = '' } = metadata
    const marks = {
      [labels.managedBy]: 'orrery-operator',
      'endpointslice.kubernetes.io/managed-by': 'orrery-operator',
      'kubernetes.io/service-name': name,
    }
    return {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        name: `${name}-${uid}-${addressType.toLowerCase()}`,
        ...withDefined({ namespace }),
        labels: marks,
        ownerReferences: [{ apiVersion: 'v1', kind: 'Service', name, uid }],
      },
      addressType,
      ports,
      endpoints: [{ addresses: [address], conditions: { ready: false, serving: true, terminating: false } }],
    }
  })
}
