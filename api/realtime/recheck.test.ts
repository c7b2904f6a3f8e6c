import { expect, test } from 'vitest'
import { platform } from '#api/domain/access/claims.ts'
import type { Principal } from '#api/platform/auth/principal.ts'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { aConnection, createFakePeer } from '#test/support/fakePeer.ts'
import type { Connection } from './connection.ts'
import { createRecheck } from './recheck.ts'

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }
const log = { ...quiet, child: () => log }
const keyOf = (id: string, permissions = ['*']): Principal => ({ ...platform, kind: 'key', id, permissions })

/** Starts a recheck over credentials that the test can revoke. */
const startRecheck = () => {
  const clock = createFakeClock()
  const stopping = new AbortController()
  const connections = new Set<Connection>()
  const keys = new Map<string, Principal>()
  const tokens = new Set<string>()
  const unverifiable = new Set<string>()
  const actions: string[] = []
  const state = { scopeExists: true, isAway: false }
  const refuseAway = (): void => {
    if (state.isAway) throw new Error('the database is away')
  }
  const recheck = createRecheck({
    connections,
    clock,
    log,
    signal: stopping.signal,
    readCredentials: async (principals) => {
      refuseAway()
      return principals.map((principal) => {
        const { kind, id, token } = principal
        const isExternal = kind === 'user' && token === undefined
        return keys.get(token?.id ?? id) ?? (isExternal ? principal : undefined)
      })
    },
    verifyToken: async (token) => {
      if (unverifiable.has(token)) throw new Error('the issuer is unavailable')
      return tokens.has(token) ? platform : undefined
    },
    scopeExists: async () => {
      refuseAway()
      return state.scopeExists
    },
    permit: (_, permissions) => void actions.push(`permit ${permissions.join()}`),
    end: ({ principal, token }, why) => void actions.push(`${token ?? principal.id} ended: ${why}`),
  })
  const running = recheck.run()
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 50; turn += 1) await undefined
  }
  return {
    recheck,
    keys,
    tokens,
    unverifiable,
    actions,
    state,
    settle,
    nowMs: clock.now,
    open: (more: Parameters<typeof aConnection>[1]): Connection => {
      const connection = aConnection(createFakePeer().peer, more)
      connections.add(connection)
      recheck.add(connection)
      return connection
    },
    advance: async (ms: number): Promise<void> => {
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
  const { open, settle, actions, stop } = startRecheck()
  open({ principal: keyOf('gone') })
  await settle()
  expect(actions).toEqual(['gone ended: credential'])
  await stop()
})

test('ends connections of a deleted key and applies changed permissions', async () => {
  const { open, recheck, keys, settle, actions, stop } = startRecheck()
  for (const id of ['same', 'less', 'gone']) {
    keys.set(id, keyOf(id))
    open({ principal: keyOf(id) })
  }
  await settle()
  expect(actions).toEqual([])
  keys.set('less', keyOf('less', ['organizations/org-1:r']))
  keys.delete('gone')
  for (const id of ['same', 'less', 'gone', 'unknown']) recheck.changed(id)
  await settle()
  expect(actions).toEqual(['permit organizations/org-1:r', 'gone ended: credential'])
  await stop()
})

test('checks every key once a minute', async () => {
  const { open, keys, advance, actions, stop } = startRecheck()
  keys.set('a', keyOf('a'))
  open({ principal: keyOf('a') })
  await advance(1)
  keys.delete('a')
  await advance(59_998)
  expect(actions).toEqual([])
  await advance(1)
  expect(actions).toEqual(['a ended: credential'])
  await stop()
})

test('ends a connection within a minute of its token becoming invalid', async () => {
  const { open, tokens, advance, actions, stop } = startRecheck()
  tokens.add('short').add('long')
  for (const token of ['short', 'long']) open({ principal: { ...platform, kind: 'user', id: 'ann' }, token })
  await advance(60_000)
  expect(actions).toEqual([])
  tokens.delete('short')
  await advance(60_000)
  expect(actions).toEqual(['short ended: credential'])
  await stop()
})

test('keeps connections whose token cannot be verified, and checks the other tokens and scopes', async () => {
  const { open, unverifiable, state, advance, actions, stop } = startRecheck()
  unverifiable.add('outage')
  for (const token of ['outage', 'invalid']) open({ principal: { ...platform, kind: 'user', id: 'ann' }, token })
  await advance(60_000)
  expect(actions).toEqual(['invalid ended: credential'])
  state.scopeExists = false
  await advance(60_000)
  expect(actions).toContain('outage ended: scope')
  await stop()
})

test('ends connections within a minute of the deletion of their scope', async () => {
  const { open, state, advance, actions, stop } = startRecheck()
  open({})
  await advance(60_000)
  state.scopeExists = false
  await advance(60_000)
  expect(actions).toEqual(['platform ended: scope'])
  await stop()
})

test('keeps connections while the database is unavailable and reads when it returns', async () => {
  const { open, recheck, keys, state, settle, advance, actions, stop } = startRecheck()
  keys.set('a', keyOf('a'))
  open({ principal: keyOf('a') })
  await settle()
  state.isAway = true
  keys.delete('a')
  recheck.all()
  await settle()
  await advance(60_000)
  expect(actions).toEqual([])
  state.isAway = false
  await advance(250)
  expect(actions).toEqual(['a ended: credential'])
  await stop()
})

test('reads a token of the built-in issuer again when its key, its signing key or the token itself changes', async () => {
  const { open, recheck, keys, settle, actions, stop } = startRecheck()
  for (const what of ['key', 'signing', 'tok']) {
    const token = {
      id: `tok-${what}`,
      keyId: `key-${what}`,
      signingKeyId: `signing-${what}`,
      organizationId: 'org-1',
      userId: 'ann',
      permissions: ['*'],
      expiresAtMs: Number.MAX_SAFE_INTEGER,
    }
    const principal: Principal = { ...platform, kind: 'user', id: what, token }
    keys.set(token.id, principal)
    open({ principal })
  }
  await settle()
  expect(actions).toEqual([])
  for (const [what, id] of [
    ['key', 'key-key'],
    ['signing', 'signing-signing'],
    ['tok', 'tok-tok'],
  ] as const) {
    keys.delete(`tok-${what}`)
    recheck.changed(id)
    await settle()
  }
  expect(actions).toEqual(['key ended: credential', 'signing ended: credential', 'tok ended: credential'])
  await stop()
})

test('reads the tokens of external issuers again when their organization changes', async () => {
  const { open, recheck, keys, settle, actions, stop } = startRecheck()
  for (const [id, organizationId] of [
    ['ann', 'org-1'],
    ['bob', 'org-2'],
  ] as const) {
    const principal: Principal = {
      ...keyOf(id),
      kind: 'user',
      bucket: `${organizationId} user issuer ${id}`,
      organizationId,
    }
    open({ principal })
    await settle()
    keys.set(id, { ...principal, permissions: [`organizations/${organizationId}:r`] })
  }
  recheck.changed('org-1')
  await settle()
  expect(actions).toEqual(['permit organizations/org-1:r'])
  await stop()
})

test('ends the connection within half a second of the expiry of its credential', async () => {
  const { open, keys, advance, actions, stop, nowMs } = startRecheck()
  const principal = { ...keyOf('short'), expiresAtMs: nowMs() + 1_000 }
  keys.set('short', principal)
  open({ principal })
  await advance(900)
  expect(actions).toEqual([])
  await advance(350)
  expect(actions).toEqual(['short ended: credential'])
  await stop()
})
