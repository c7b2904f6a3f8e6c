import type { IncomingMessage } from 'node:http'
import { BlockList } from 'node:net'
import { expect, test } from 'vitest'
import { createClientAddress } from './clientAddress.ts'

const proxies = new BlockList()
proxies.addSubnet('10.0.0.0', 8, 'ipv4')
proxies.addSubnet('fd00::', 8, 'ipv6')
const addressOf = createClientAddress(proxies)
const ask = (remoteAddress: string, headers: IncomingMessage['headers'] = {}) =>
  addressOf({ socket: { remoteAddress } as IncomingMessage['socket'], headers })

test.each([
  ['a client without a proxy', '192.0.2.1', {}, '192.0.2.1'],
  ['a client that claims to be another', '192.0.2.1', { 'x-forwarded-for': '192.0.2.9' }, '192.0.2.1'],
  ['an IPv4 client of a socket for both families', '::ffff:192.0.2.1', {}, '192.0.2.1'],
  ['a proxy of such a socket', '::ffff:10.1.1.1', { 'x-forwarded-for': '192.0.2.9' }, '192.0.2.9'],
  ['the rightmost untrusted hop', '10.1.1.1', { 'x-forwarded-for': '1.1.1.1, 192.0.2.9, 10.2.2.2' }, '192.0.2.9'],
  ['a hop with a port', '10.1.1.1', { 'x-forwarded-for': '192.0.2.9:4711' }, '192.0.2.9'],
  ['a hop that is no address', '10.1.1.1', { 'x-forwarded-for': '192.0.2.9, unknown' }, '10.1.1.1'],
  ['Forwarded', 'fd00::1', { forwarded: 'for=1.1.1.1, for="[2001:db8::7]:80";proto=https' }, '2001:db8::7'],
  ['no header from a proxy', '10.1.1.1', {}, '10.1.1.1'],
])('finds %s', (_, remoteAddress, headers, address) => {
  expect(ask(remoteAddress, headers)).toBe(address)
})
