import { BlockList, isIP } from 'node:net'

const octet = '(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])'
const group = '[0-9a-fA-F]{1,4}'
/** The forms of an IPv6 address (RFC 4291, section 2.2) without an embedded IPv4 address. */
const ipv6Forms = [
  `(${group}:){7}${group}`,
  `(${group}:){1,7}:`,
  ...[1, 2, 3, 4, 5, 6].map((tail) => `(${group}:){1,${7 - tail}}(:${group}){1,${tail}}`),
  `:((:${group}){1,7}|:)`,
].join('|')

/** The pattern of a CIDR block such as `192.0.2.0/24` or `2001:db8::/32`. */
export const networkPattern = new RegExp(
  `^((${octet}\\.){3}${octet}/(3[0-2]|[12]?[0-9])|(${ipv6Forms})/(12[0-8]|1[01][0-9]|[1-9]?[0-9]))$`,
)

/** Returns CIDR blocks in the form that addresses are looked up in. */
export const toBlockList = (networks: readonly string[]): BlockList => {
  const list = new BlockList()
  for (const network of networks) {
    const [base = '', prefix] = network.split('/')
    list.addSubnet(base, Number(prefix), isIP(base) === 6 ? 'ipv6' : 'ipv4')
  }
  return list
}
