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

/** A network (CIDR): its base address and the length of its prefix in bits. */
type Network = { readonly address: string; readonly prefixLength: number; readonly family: 'ipv4' | 'ipv6' }

/** Parses `192.0.2.0/24` or `2001:db8::/32`. An address without a prefix is the network of that address alone. */
export const parseNetwork = (text: string): Network | undefined => {
  const [address = '', prefix] = text.split('/')
  const version = isIP(address)
  if (version === 0) return undefined
  const longest = version === 6 ? 128 : 32
  const prefixLength = prefix === undefined ? longest : Number(/^\d{1,3}$/.test(prefix) ? prefix : Number.NaN)
  return prefixLength <= longest ? { address, prefixLength, family: version === 6 ? 'ipv6' : 'ipv4' } : undefined
}

/** Returns networks in the form that addresses are looked up in. Throws a RangeError for text that is not a network. */
export const toBlockList = (networks: readonly string[]): BlockList => {
  const list = new BlockList()
  for (const text of networks) {
    const network = parseNetwork(text)
    if (network === undefined) throw new RangeError(`${text} is not a network such as 192.0.2.0/24.`)
    list.addSubnet(network.address, network.prefixLength, network.family)
  }
  return list
}

/** Reports whether every address of a network is in one of others. */
export const isWithinNetworks = (text: string, others: readonly string[]): boolean => {
  const inner = parseNetwork(text)
  return (
    inner !== undefined &&
    others.some((other) => {
      const outer = parseNetwork(other)
      return (
        outer?.family === inner.family &&
        outer.prefixLength <= inner.prefixLength &&
        toBlockList([other]).check(inner.address, inner.family)
      )
    })
  )
}
