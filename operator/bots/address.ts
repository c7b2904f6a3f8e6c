import { publicPorts } from '#shared/domain/ports.ts'
import type { World } from '#shared/resources/world.ts'

/**
 * Returns the address at which bots reach the first public port of a world, as `host:port`; undefined while there is none. Bots are in
 * the cluster, and network policies let them reach pods alone. So they do not use the address of a node, a load balancer or a Gateway,
 * but the service behind it, which stays when the server restarts, or the pod.
 */
export const botAddressOf = (
  { metadata: { name, namespace }, status }: Pick<World, 'metadata' | 'status'>,
  serverIp: string | undefined,
): string | undefined => {
  const { address, run } = status ?? {}
  const [port] = publicPorts(run?.ports ?? [])
  if (address === undefined || port === undefined) return address && hostAndPort(address.host, address.port)
  switch (run?.strategy) {
    case 'NodePort':
    case 'Route':
      return hostAndPort(`${name}.${namespace}.svc`, port.containerPort)
    case 'LoadBalancer':
      return hostAndPort(`${name}.${namespace}.svc`, address.port)
    case 'HostPort':
      return serverIp && hostAndPort(serverIp, port.policy === 'Passthrough' ? address.port : port.containerPort)
    default:
      return hostAndPort(address.host, address.port)
  }
}

const hostAndPort = (host: string, port: number): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
