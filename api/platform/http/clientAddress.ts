import type { IncomingMessage } from 'node:http'
import { type BlockList, isIP } from 'node:net'

/** The longest chain of proxies that is followed. */
const maxHops = 32

/** Reports whether an address is in one of the networks. */
export const isInNetworks = (networks: BlockList, address: string): boolean =>
  isIP(address) !== 0 && networks.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')

/** Returns an address without the prefix that a socket of both families gives to IPv4 addresses (`::ffff:192.0.2.1`). */
export const plainAddress = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '')

/**
 * Returns the block of addresses by which a client is counted: an IPv4 address itself, or the /64 network of an IPv6
 * address, since a client usually has a whole /64.
 */
export const addressBlock = (address: string): string => {
  if (isIP(address) !== 6) return address
  const [head = '', tail] = address.split('%', 1).join('').split('::')
  const groupsOf = (text: string): string[] => (text === '' ? [] : text.split(':'))
  const [first, last] = [groupsOf(head), groupsOf(tail ?? '')]
  // An IPv4 address at the end counts as two groups.
  const count = first.length + last.length + (address.includes('.') ? 1 : 0)
  const all = tail === undefined ? first : [...first, ...Array.from({ length: 8 - count }, () => '0'), ...last]
  const network = all.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16))
  return `${network.join(':')}::/64`
}

/** The headers in which proxies pass on the address of the client: the usual one, and that of RFC 7239. */
export const forwardingHeaders = ['x-forwarded-for', 'forwarded'] as const

/**
 * Returns a function that finds the address of the client: that of the connection or, if that is a trusted proxy, the rightmost
 * untrusted address of the forwarding header. Addresses further left, and the other forwarding header, are ignored, because the
 * client may have written them.
 */
export const createClientAddress =
  (trustedProxies: BlockList, header: (typeof forwardingHeaders)[number]) =>
  ({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): string => {
    let address = plainAddress(socket.remoteAddress ?? '')
    if (!isInNetworks(trustedProxies, address)) return address
    for (const hop of hopsOf(headers, header)) {
      const next = plainAddress(withoutPort(hop))
      if (isIP(next) === 0) break
      address = next
      if (!isInNetworks(trustedProxies, address)) break
    }
    return address
  }

/** Finds the address of the client of a request. */
export type ClientAddress = ReturnType<typeof createClientAddress>

/** Returns the addresses that proxies appended, the last one first. */
const hopsOf = (headers: IncomingMessage['headers'], header: (typeof forwardingHeaders)[number]): string[] => {
  const values = String(headers[header] ?? '').split(',')
  const hops = header === 'forwarded' ? values.map((hop) => /(?:^|;)\s*for="?([^";]*)/i.exec(hop)?.[1] ?? '') : values
  return hops.slice(-maxHops).reverse()
}

/** `192.0.2.1:443` and `[2001:db8::1]:443` without their ports. */
const withoutPort = (hop: string): string => {
  const text = hop.trim()
  const [, bracketed] = /^\[([^\]]*)\]/.exec(text) ?? []
  return bracketed ?? text.replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
}
