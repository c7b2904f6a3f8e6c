import { expect, test } from 'vitest'
import { toBlockList } from '#api/platform/http/networks.ts'
import { createAddressCheck, isPublicAddress } from './address.ts'

test.each([
  ['unspecified', '0.0.0.0'],
  ['this network', '0.1.2.3'],
  ['private', '10.0.0.1'],
  ['private', '172.16.0.1'],
  ['private', '172.31.255.255'],
  ['private', '192.168.1.1'],
  ['shared by carriers', '100.64.0.1'],
  ['loopback', '127.0.0.1'],
  ['loopback', '127.255.255.254'],
  ['link-local, metadata of clouds', '169.254.169.254'],
  ['protocol assignment', '192.0.0.8'],
  ['documentation', '192.0.2.1'],
  ['relay of 6to4', '192.88.99.1'],
  ['benchmark', '198.19.0.1'],
  ['multicast', '224.0.0.1'],
  ['reserved', '240.0.0.1'],
  ['broadcast', '255.255.255.255'],
  ['unspecified', '::'],
  ['loopback', '::1'],
  ['IPv4-mapped', '::ffff:127.0.0.1'],
  ['IPv4-mapped, public', '::ffff:8.8.8.8'],
  ['IPv4-compatible', '::127.0.0.1'],
  ['IPv4-translated', '::ffff:0:127.0.0.1'],
  ['NAT64', '64:ff9b::7f00:1'],
  ['local NAT64', '64:ff9b:1::7f00:1'],
  ['discard-only', '100::1'],
  ['Teredo', '2001:0:7f00:1::1'],
  ['documentation', '2001:db8::1'],
  ['6to4', '2002:7f00:1::1'],
  ['documentation', '3fff::1'],
  ['segment routing', '5f00::1'],
  ['unique local', 'fd00::1'],
  ['unique local', 'fc00::1'],
  ['link-local', 'fe80::1'],
  ['link-local with a zone', 'fe80::1%eth0'],
  ['global with a zone', '2606:4700::1%eth0'],
  ['site-local', 'fec0::1'],
  ['multicast', 'ff02::1'],
  ['no address', 'localhost'],
])('refuses an address that is %s: %s', (_, address) => {
  expect(isPublicAddress(address)).toBe(false)
})

test.each([
  '1.1.1.1',
  '9.255.255.255',
  '100.63.255.255',
  '172.32.0.1',
  '223.255.255.255',
  '2606:4700::1111',
  '2a00::1',
])('accepts the public address %s', (address) => {
  expect(isPublicAddress(address)).toBe(true)
})

test('accepts addresses of the allowed networks, and no other private ones', () => {
  const isAllowed = createAddressCheck(toBlockList(['10.1.0.0/16', 'fd00:1::/32']))
  expect(['10.1.2.3', 'fd00:1::5', '1.1.1.1'].map(isAllowed)).toEqual([true, true, true])
  expect(['10.2.0.1', 'fd00:2::5', '127.0.0.1', 'fd00:1::5%eth0', 'x'].map(isAllowed)).toEqual(
    Array.from({ length: 5 }, () => false),
  )
})
