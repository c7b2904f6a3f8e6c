import type { IncomingMessage } from 'node:http'
import { BlockList } from 'node:net'
import { expect, test } from 'vitest'
import { addressBlock, createClientAddress } from './clientAddress.ts'

const proxies = new BlockList()
proxies.addSubnet('10.0.0.0', 8, 'ipv4')
proxies.addSubnet('fd00::', 8, 'ipv6')
const askBy =
  (header: Parameters<typeof createClientAddress>[1]) =>
  (remoteAddress: string, headers: IncomingMessage['headers'] = {}): string =>
    createClientAddress(proxies, header)({ socket: { remoteAddress } as IncomingMessage['socket'], headers })
const ask = askBy('x-forwarded-for')

test.each([
  ['a client without a proxy', '192.0.2.1', {}, '192.0.2.1'],
  ['a client that claims to be another', '192.0.2.1', { 'x-forwarded-for': '192.0.2.9' }, '192.0.2.1'],
  ['an IPv4 client of a dual-stack socket', '::ffff:192.0.2.1', {}, '192.0.2.1'],
  [
    'a client behind a proxy on a dual-stack socket',
    '::ffff:10.1.1.1',
    { 'x-forwarded-for': '192.0.2.9' },
    '192.0.2.9',
  ],
  ['the rightmost untrusted hop', '10.1.1.1', { 'x-forwarded-for': '1.1.1.1, 192.0.2.9, 10.2.2.2' }, '192.0.2.9'],
  ['a client with a port', '10.1.1.1', { 'x-forwarded-for': '192.0.2.9:4711' }, '192.0.2.9'],
  ['the proxy if a hop is not an address', '10.1.1.1', { 'x-forwarded-for': '192.0.2.9, unknown' }, '10.1.1.1'],
  ['the proxy if the client alone wrote a header', '10.1.1.1', { forwarded: 'for=192.0.2.9' }, '10.1.1.1'],
  ['a proxy that sends no header', '10.1.1.1', {}, '10.1.1.1'],
])('returns the address of %s', (_, remoteAddress, headers, address) => {
  expect(ask(remoteAddress, headers)).toBe(address)
})

test.each([
  ['in it', { forwarded: 'for=1.1.1.1, for="[2001:db8::7]:80";proto=https' }, '2001:db8::7'],
  ['beside the one of the client', { forwarded: 'for=192.0.2.9', 'x-forwarded-for': '10.1.2.3' }, '192.0.2.9'],
  ['that is missing', { 'x-forwarded-for': '192.0.2.9' }, 'fd00::1'],
])('with the header Forwarded, returns the address %s', (_, headers, address) => {
  expect(askBy('forwarded')('fd00::1', headers)).toBe(address)
})

test.each([
  ['192.0.2.9', '192.0.2.9'],
  ['2001:db8:0:7::1', '2001:db8:0:7::/64'],
  ['2001:DB8:0000:0007:ffff:ffff:ffff:ffff', '2001:db8:0:7::/64'],
  ['2001:db8::7:1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['64:ff9b::192.0.2.9', '64:ff9b:0:0::/64'],
  ['', ''],
])('counts the client %s as %s', (address, block) => {
  expect(addressBlock(address)).toBe(block)
})
