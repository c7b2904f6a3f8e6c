import { BlockList, isIP } from 'node:net'
import { getConnInfo } from '@hono/node-server/conninfo'
import type { Context as HonoContext } from 'hono'

/** Returns the address of the peer, or '' where the application runs without a server. */
export const clientAddress = (c: HonoContext): string => {
  try {
    return getConnInfo(c).remote.address ?? ''
  } catch {
    return ''
  }
}

/** Reports whether a text is a CIDR block such as `192.0.2.0/24` or `2001:db8::/32`. */
export const isNetwork = (text: string): boolean => {
  const [address = '', prefix = '', ...rest] = text.split('/')
  const family = isIP(address)
  return family !== 0 && rest.length === 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128)
}

/** Reports whether an address is in one of the CIDR blocks. An IPv4 address that is mapped into IPv6 counts as IPv4. */
export const isInNetworks = (address: string, networks: readonly string[]): boolean => {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '')
  const family = isIP(plain)
  if (family === 0) return false
  const list = new BlockList()
  for (const network of networks) {
    const [base = '', prefix] = network.split('/')
    list.addSubnet(base, Number(prefix), familyName(isIP(base)))
  }
  return list.check(plain, familyName(family))
}

const familyName = (family: number): 'ipv4' | 'ipv6' => (family === 6 ? 'ipv6' : 'ipv4')
