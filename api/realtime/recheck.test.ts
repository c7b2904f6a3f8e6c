import { expect, test } from 'vitest'
import { platform } from '#api/domain/access/claims.ts'
import type { Principal } from '#api/platform/auth/principal.ts'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { aConnection, aFakePeer } from '#test/support/fakePeer.ts'
import type { Connection } from './connection.ts'
import { createRecheck } from './recheck.ts'

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }
const log = { ...quiet, child: () => log }
const keyOf = (id: string, permissions = ['*']): Principal => ({ ...platform, kind: 'key', id, permissions })

/** A recheck over credentials that a test takes away. */
const aRecheck = () => {
  const clock = createFakeClock()
  const stopping = new AbortController()
  const connections = new Set<Connection>()
  const keys = new Map<string, Principal>()
  const tokens = new Set<string>()
  const unverifiable = new Set<string>()
  const told: string[] = []
  const state = { scopeExists: true, isAway: false }
  const refuseAway = (): void => {
    if (state.isAway) throw new Error('the database is away')
  }
  const recheck = createRecheck({
    ...{ connections, clock, log, signal: stopping.signal },
    readCredentials: async (principals) => {
      refuseAway()
      return principals.map(({ id, token }) => keys.get(token?.id ?? id))
    },
    verifyToken: async (token) => {
      if (unverifiable.has(token)) throw new Error('the issuer is unavailable')
      return tokens.has(token) ? platform : undefined
    },
    scopeExists: async () => {
      refuseAway()
      return state.scopeExists
    },
    permit: (_, permissions) => void told.push(`permit ${permissions.join()}`),
    end: ({ principal, token }, why) => void told.push(`${token ?? principal.id} ended: ${why}`),
  })
  const running = recheck.run()
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 50; turn += 1) await undefined
  }
  return {
    ...{ recheck, keys, tokens, unverifiable, told, state, settle, nowMs: clock.now },
    open: (more: Parameters<typeof aConnection>[1]): Connection => {
      const connection = aConnection(aFakePeer().peer, more)
      connections.add(connection)
      recheck.add(connection)
      return connection
    },
    pass: async (ms: number): Promise<void> => {
      clock.advance(ms)
      await settle()
    },
    stop: async (): Promise<void> => {
      stopping.abort()
      await running
    },
  }
}

test('ends a connection whose key was deleted during the handshake', async () => {
  const { open, settle, told, stop } = aRecheck()
  open({ principal: keyOf('gone') })
  await settle()
  expect(told).toEqual(['gone ended: credential'])
  await stop()
})

test('ends connections of a deleted key and applies changed permissions', async () => {
  const { open, recheck, keys, settle, told, stop } = aRecheck()
  for (const id of ['same', 'less', 'gone']) {
    keys.set(id, keyOf(id))
    open({ principal: keyOf(id) })
  }
  await settle()
  expect(told).toEqual([])
  keys.set('less', keyOf('less', ['organizations/org-1:r']))
  keys.delete('gone')
  for (const id of ['same', 'less', 'gone', 'unknown']) recheck.changed(id)
  await settle()
  expect(told).toEqual(['permit organizations/org-1:r', 'gone ended: credential'])
  await stop()
})

test('checks every key once a minute', async () => {
  const { open, keys, pass, told, stop } = aRecheck()
  keys.set('a', keyOf('a'))
  open({ principal: keyOf('a') })
  await pass(1)
  keys.delete('a')
  await pass(59_998)
  expect(told).toEqual([])
  await pass(1)
  expect(told).toEqual(['a ended: credential'])
  await stop()
})

test('ends a connection within a minute of its token becoming invalid', async () => {
  const { open, tokens, pass, told, stop } = aRecheck()
  tokens.add('short').add('long')
  for (const token of ['short', 'long']) open({ principal: { ...platform, kind: 'user', id: 'ann' }, token })
  await pass(60_000)
  expect(told).toEqual([])
  tokens.delete('short')
  await pass(60_000)
  expect(told).toEqual(['short ended: credential'])
  await stop()
})

test('keeps connections whose token cannot be verified, and checks the other tokens and scopes', async () => {
  const { open, unverifiable, state, pass, told, stop } = aRecheck()
  unverifiable.add('outage')
  for (const token of ['outage', 'invalid']) open({ principal: { ...platform, kind: 'user', id: 'ann' }, token })
  await pass(60_000)
  expect(told).toEqual(['invalid ended: credential'])
  state.scopeExists = false
  await pass(60_000)
  expect(told).toContain('outage ended: scope')
  await stop()
})

test('ends connections within a minute of the deletion of their scope', async () => {
  const { open, state, pass, told, stop } = aRecheck()
  open({})
  await pass(60_000)
  state.scopeExists = false
  await pass(60_000)
  expect(told).toEqual(['platform ended: scope'])
  await stop()
})

test('keeps connections while the database is unavailable and reads when it returns', async () => {
  const { open, recheck, keys, state, settle, pass, told, stop } = aRecheck()
  keys.set('a', keyOf('a'))
  open({ principal: keyOf('a') })
  await settle()
  state.isAway = true
  keys.delete('a')
  recheck.all()
  await settle()
  await pass(60_000)
  expect(told).toEqual([])
  state.isAway = false
  await pass(250)
  expect(told).toEqual(['a ended: credential'])
  await stop()
})

test('a token of the built-in issuer is read when its key, its signing key or itself changes', async () => {
  const { open, recheck, keys, settle, told, stop } = aRecheck()
  for (const what of ['key', 'signing', 'tok']) {
    const token = {
      ...{ id: `tok-${what}`, keyId: `key-${what}`, signingKeyId: `signing-${what}` },
      ...{ tenantId: 'org-1', userId: 'ann', permissions: ['*'] },
    }
    const principal: Principal = { ...platform, kind: 'user', id: what, token }
    keys.set(token.id, principal)
    open({ principal })
  }
  await settle()
  expect(told).toEqual([])
  for (const [what, id] of [
    ['key', 'key-key'],
    ['signing', 'signing-signing'],
    ['tok', 'tok-tok'],
  ] as const) {
    keys.delete(`tok-${what}`)
    recheck.changed(id)
    await settle()
  }
  expect(told).toEqual(['key ended: credential', 'signing ended: credential', 'tok ended: credential'])
  await stop()
})

test('a credential whose time is over ends its connection within half a second', async () => {
  const { open, keys, pass, told, stop, nowMs } = aRecheck()
  const principal = { ...keyOf('short'), expiresAtMs: nowMs() + 1_000 }
  keys.set('short', principal)
  open({ principal })
  await pass(900)
  expect(told).toEqual([])
  await pass(350)
  expect(told).toEqual(['short ended: credential'])
  await stop()
})
