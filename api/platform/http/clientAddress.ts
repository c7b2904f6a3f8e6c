import type { IncomingMessage } from 'node:http'
import { type BlockList, isIP } from 'node:net'

/** The longest chain of proxies that is followed. */
const maxHops = 32

/** Reports whether an address is in one of the networks. */
export const isInNetworks = (networks: BlockList, address: string): boolean =>
  isIP(address) !== 0 && networks.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')

/** An IPv4 address in its own form where a socket that serves both families shows it as IPv6 (`::ffff:192.0.2.1`). */
export const plainAddress = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '')

/**
 * Finds the address of the client: that of the connection, or, where it is a trusted proxy's, the rightmost untrusted
 * address of `X-Forwarded-For`, or of `Forwarded` (RFC 7239) where that header is absent. What stands further left was
 * written by the client.
 */
export const createClientAddress =
  (trustedProxies: BlockList) =>
  ({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): string => {
    let address = plainAddress(socket.remoteAddress ?? '')
    if (!isInNetworks(trustedProxies, address)) return address
    for (const hop of hopsOf(headers)) {
      const next = plainAddress(withoutPort(hop))
      if (isIP(next) === 0) break
      address = next
      if (!isInNetworks(trustedProxies, address)) break
    }
    return address
  }

/** Finds the address of the client of a request. */
export type ClientAddress = ReturnType<typeof createClientAddress>

/** The addresses that proxies appended, the last one first. */
const hopsOf = (headers: IncomingMessage['headers']): string[] => {
  const forwardedFor = headers['x-forwarded-for']
  const hops =
    forwardedFor === undefined
      ? (headers.forwarded ?? '').split(',').map((hop) => /(?:^|;)\s*for="?([^";]*)/i.exec(hop)?.[1] ?? '')
      : String(forwardedFor).split(',')
  return hops.slice(-maxHops).reverse()
}

/** `192.0.2.1:443` and `[2001:db8::1]:443` without their ports. */
const withoutPort = (hop: string): string => {
  const text = hop.trim()
  const [, bracketed] = /^\[([^\]]*)\]/.exec(text) ?? []
  return bracketed ?? text.replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
}
