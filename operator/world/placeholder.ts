import { ownedMetadata } from '#operator/pods/pod.ts'
import { gamePort } from '#shared/domain/ports.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { labels } from '#shared/resources/group.ts'
import type { World } from '#shared/resources/world.ts'

/** Addresses that no host has, by family: of TEST-NET-2 (RFC 5737) and of the discard prefix (RFC 6666). */
const addresses = { IPv4: '198.51.100.1', IPv6: '100::1' } as const

/**
 * Builds the EndpointSlices with the placeholder of the services of a world, one for each family of addresses. kube-proxy removes
 * gone servers from the tracked UDP connections of a service only if the service has an endpoint that serves. It sends nothing to
 * one that serves but is neither ready nor terminating.
 */
export const buildPlaceholders = (owner: World): KubeObject[] =>
  Object.entries(addresses).map(([addressType, address]) => {
    const { name, uid } = owner.metadata
    const marks = {
      [labels.managedBy]: 'orrery-operator',
      'endpointslice.kubernetes.io/managed-by': 'orrery-operator',
      'kubernetes.io/service-name': name,
    }
    return {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: ownedMetadata({ owner, name: `${name}-${uid}-${addressType.toLowerCase()}`, labels: marks }),
      addressType,
      ports: [{ name: 'game-udp', protocol: 'UDP', port: gamePort }],
      endpoints: [{ addresses: [address], conditions: { ready: false, serving: true, terminating: false } }],
    }
  })
