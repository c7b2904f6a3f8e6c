import { BlockList, isIP } from 'node:net'

/** Reports whether a text is a CIDR block such as `192.0.2.0/24` or `2001:db8::/32`. */
export const isNetwork = (text: string): boolean => {
  const [address = '', prefix = '', ...rest] = text.split('/')
  const family = isIP(address)
  return family !== 0 && rest.length === 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128)
}

/** Returns CIDR blocks in the form that addresses are looked up in. */
export const toBlockList = (networks: readonly string[]): BlockList => {
  const list = new BlockList()
  for (const network of networks) {
    const [base = '', prefix] = network.split('/')
    list.addSubnet(base, Number(prefix), isIP(base) === 6 ? 'ipv6' : 'ipv4')
  }
  return list
}
