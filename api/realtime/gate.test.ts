import { expect, test } from 'vitest'
import { platform } from '#api/domain/access/claims.ts'
import { anonymous } from '#api/platform/auth/principal.ts'
import { createGate } from './gate.ts'

const key = (id: string) => ({ ...anonymous(''), kind: 'key' as const, id, bucket: id })
const limited = expect.objectContaining({ code: 'rate_limited', headers: { 'retry-after': '10' } })

test('refuses connections above the limit of a credential until one ends', () => {
  const gate = createGate({ socketsPerKey: 2, socketsPerAddress: 10 })
  const leave = gate.enter(key('a'), '::1')
  gate.enter(key('a'), '::1')
  expect(() => gate.enter(key('a'), '::2')).toThrow(limited)
  gate.enter(key('b'), '::1')
  leave()
  // A second call of leave has no effect.
  leave()
  gate.enter(key('a'), '::1')
  expect(() => gate.enter(key('a'), '::1')).toThrow(limited)
})

test('refuses connections above the limit of an address for every credential', () => {
  const gate = createGate({ socketsPerKey: 10, socketsPerAddress: 2 })
  gate.enter(key('a'), '::1')
  const leave = gate.enter(platform, '::1')
  expect(() => gate.enter(key('b'), '::1')).toThrow(limited)
  expect(() => gate.enter(platform, '::1')).toThrow(limited)
  gate.enter(key('b'), '2001:db8::1')
  leave()
  gate.enter(key('b'), '::1')
})

test('does not apply the credential limit to the platform key', () => {
  const gate = createGate({ socketsPerKey: 1, socketsPerAddress: 10 })
  for (let at = 0; at < 5; at += 1) gate.enter(platform, '::1')
})

test('refuses every connection after close', () => {
  const gate = createGate({ socketsPerKey: 1, socketsPerAddress: 1 })
  gate.close()
  expect(() => gate.enter(platform, '::1')).toThrow(expect.objectContaining({ code: 'unavailable' }))
})

test('limits the connections of an organization over all of its keys, until one ends', () => {
  const counts = new Map<string, number>()
  const gate = createGate({ socketsPerKey: 10, socketsPerAddress: 10 }, { counts, maxOf: () => 2 })
  const keyOf = (id: string, organizationId: string) => ({ ...key(id), organizationId })
  const leave = gate.enter(keyOf('a', 'org-1'), '::1')
  gate.enter(keyOf('b', 'org-1'), '::2')
  expect(() => gate.enter(keyOf('c', 'org-1'), '::3')).toThrow(limited)
  gate.enter(keyOf('d', 'org-2'), '::1')
  leave()
  gate.enter(keyOf('c', 'org-1'), '::3')
  expect(Object.fromEntries(counts)).toEqual({ 'org-1': 2, 'org-2': 1 })
})

test('counts IPv6 clients by their /64 network', () => {
  const gate = createGate({ socketsPerKey: 10, socketsPerAddress: 2 })
  for (const address of ['2001:db8::1', '2001:db8::2']) gate.enter(key('a'), address)
  expect(() => gate.enter(key('b'), '2001:db8::3')).toThrow(limited)
  gate.enter(key('b'), '2001:db8:0:1::3')
})
