import { type BlockList, isIP } from 'node:net'
import { toBlockList } from '#api/platform/http/networks.ts'

/** The IPv4 networks that are not globally reachable (IANA IPv4 Special-Purpose Address Registry), and multicast. */
const refusedIpv4 = toBlockList([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
])

/**
 * The global unicast addresses of IPv6 (RFC 4291, section 2.4). Everything else is refused: loopback, link-local, unique
 * local, multicast, addresses that map IPv4 and those of NAT64.
 */
const globalIpv6 = toBlockList(['2000::/3'])

/**
 * The refused networks among the global unicast addresses: protocol assignments with Teredo, documentation, and 6to4, whose
 * addresses contain an IPv4 address.
 */
const refusedIpv6 = toBlockList(['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'])

/** Reports whether an IP address is public, so that a request to it cannot reach a private network. */
export const isPublicAddress = (address: string): boolean => {
  if (isIP(address) === 4) return !refusedIpv4.check(address, 'ipv4')
  if (isIP(address) !== 6 || address.includes('%')) return false
  return globalIpv6.check(address, 'ipv6') && !refusedIpv6.check(address, 'ipv6')
}

/** Returns the check of the addresses that may be connected to: public ones, and those of the allowed networks. */
export const createAddressCheck =
  (allowedNetworks: BlockList) =>
  (address: string): boolean => {
    const version = isIP(address)
    if (version === 0 || address.includes('%')) return false
    return allowedNetworks.check(address, version === 6 ? 'ipv6' : 'ipv4') || isPublicAddress(address)
  }
