import { SignJWT } from 'jose'
import { expect, test } from 'vitest'
import { type LogTicket, logAudience, signTicket, verifyTicket } from './ticket.ts'

const key = 'a-key-of-at-least-thirty-two-characters'
const otherKey = 'another-key-of-at-least-32-characters!'
const audience = logAudience('default')
const nowMs = 1_700_000_000_000
const ticket: LogTicket = {
  source: 'pod',
  namespace: 'orrery-org-1',
  kind: 'World',
  name: 'wld-1',
  uid: 'uid-1',
  runId: 'run-00000000000000000000000000',
  podUid: 'pod-1',
  follow: false,
  tailLines: 1_000,
}
const verify = (text: string, more: Partial<Parameters<typeof verifyTicket>[1]> = {}) =>
  verifyTicket(text, { keys: [key], audience, nowMs, ...more })

test('a signed ticket is returned whole', async () => {
  expect(await verify(await signTicket(ticket, { key, audience, nowMs }))).toEqual(ticket)
})

test('a ticket of the previous key is accepted during a rotation', async () => {
  const text = await signTicket(ticket, { key: otherKey, audience, nowMs })
  expect(await verify(text, { keys: [key, otherKey] })).toEqual(ticket)
})

test('a ticket expires after 30 seconds and the tolerated difference of the clocks', async () => {
  const text = await signTicket(ticket, { key, audience, nowMs })
  expect(await verify(text, { nowMs: nowMs + 30_000 })).toEqual(ticket)
  expect(await verify(text, { nowMs: nowMs + 36_000 })).toBeUndefined()
})

test('a ticket that claims a longer lifetime is refused once it is older than 30 seconds', async () => {
  const text = await new SignJWT({ log: ticket })
    .setProtectedHeader({ alg: 'HS256', typ: 'orrery-log+jwt' })
    .setIssuer('orrery-api')
    .setAudience(audience)
    .setIssuedAt(nowMs / 1000 - 60)
    .setExpirationTime(nowMs / 1000 + 3_600)
    .sign(new TextEncoder().encode(key))
  expect(await verify(text)).toBeUndefined()
})

test.each([
  ['for another cluster', { audience: logAudience('other') }],
  ['of another key', { key: otherKey }],
  ['from the future', { nowMs: nowMs + 60_000 }],
])('a ticket %s is refused', async (_, more) => {
  expect(await verify(await signTicket(ticket, { key, audience, nowMs, ...more }))).toBeUndefined()
})

test.each([
  ['namespace', 'orrery-org-2'],
  ['uid', 'uid-2'],
  ['podUid', 'pod-2'],
  ['name', 'wld-2'],
])('a ticket with an altered %s is refused', async (field, value) => {
  const [header, , signature] = (await signTicket(ticket, { key, audience, nowMs })).split('.')
  const claims = {
    log: { ...ticket, [field]: value },
    iss: 'orrery-api',
    aud: audience,
    iat: nowMs / 1000,
    exp: nowMs / 1000 + 30,
  }
  const payload = Buffer.from(JSON.stringify(claims)).toString('base64url')
  expect(await verify([header, payload, signature].join('.'))).toBeUndefined()
})

test.each([
  ['', 'no text'],
  ['a.b.c', 'three parts'],
  [`${Buffer.from('{"alg":"none"}').toString('base64url')}.e30.`, 'an unsigned token'],
])('%j is refused', async (text) => {
  expect(await verify(text)).toBeUndefined()
})

test('a signed token of another type is refused', async () => {
  const text = await new SignJWT({ log: ticket })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setIssuer('orrery-api')
    .setAudience(audience)
    .setIssuedAt(nowMs / 1000)
    .setExpirationTime(nowMs / 1000 + 30)
    .sign(new TextEncoder().encode(key))
  expect(await verify(text)).toBeUndefined()
})

test('a signed ticket with an unknown or a missing field is refused', async () => {
  const { namespace: _, ...partial } = ticket
  for (const log of [{ ...ticket, container: 'other' }, partial]) {
    const text = await signTicket(log as LogTicket, { key, audience, nowMs })
    expect(await verify(text)).toBeUndefined()
  }
})
