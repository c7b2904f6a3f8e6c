import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Registry } from 'prom-client'
import { afterEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { platform } from '#api/domain/access/claims.ts'
import { createIssuer, type KeyStore, type StoredKey } from '#api/domain/access/issuer.ts'
import { createTokenVerifier } from '#api/domain/access/token.ts'
import type { Admission, Upgrade } from '#api/domain/endpoint/admission.ts'
import { createSealer } from '#api/platform/secrets/seal.ts'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { aScope } from '#test/support/fakePeer.ts'
import { eventually } from '#test/support/wait.ts'
import type { Connection } from './connection.ts'
import { type Ending, endings } from './ending.ts'
import { createHub } from './hub.ts'
import { createRealtimeMetrics } from './metrics.ts'
import { createRecheck } from './recheck.ts'
import { createSessions } from './sessions.ts'
import { createUpgrade } from './upgrade.ts'

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }
const log = { ...quiet, child: () => log }
const byPlatform: Admission = { principal: platform, scope: aScope, token: undefined }
const started: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of started.splice(0)) await stop()
})

/** Starts realtime on a real port with a fake clock. No documents exist. */
const startServer = async (
  admit: () => Promise<Admission> = async () => byPlatform,
  verifyToken: Parameters<typeof createRecheck>[0]['verifyToken'] = async () => platform,
  scopeExists: Parameters<typeof createRecheck>[0]['scopeExists'] = async () => true,
  /** The time that passes with each look at the clock of the sessions. */
  lookMs = 0,
) => {
  const clock = createFakeClock(Date.parse('2026-01-01T00:00:00Z'))
  let lookedMs = 0
  const stopping = new AbortController()
  const { signal } = stopping
  const connections = new Set<Connection>()
  const metrics = createRealtimeMetrics(new Registry(), clock.monotonic, () => 0)
  const hub = createHub({
    metrics,
    read: (entry) => hub.publishSnapshot(entry, undefined, hub.subscriptionsForSnapshot(entry)),
    keyChanged: () => undefined,
    feedChanged: () => undefined,
    restartFeed: () => undefined,
    repeat: () => undefined,
    scheduleFlush: (connection) => hub.flush(connection, 0),
    end: (connection, why) => sessions.end(connection, why),
  })
  const sessions = createSessions(connections, {
    hub,
    metrics,
    clock: {
      ...clock,
      monotonic: () => {
        lookedMs += lookMs
        return clock.monotonic() + lookedMs
      },
    },
    random: () => 0,
    onOpen: (connection) => recheck.add(connection),
    onClose: (connection) => recheck.remove(connection),
  })
  const recheck = createRecheck({
    connections,
    verifyToken,
    clock,
    log,
    signal,
    permit: hub.updatePermissions,
    end: sessions.end,
    readCredentials: async (principals) => principals,
    scopeExists,
  })
  const upgrade = createUpgrade({
    fetch: async (_, env: { upgrade: Upgrade }) => {
      env.upgrade.admit(await admit())
      return new Response(null)
    },
    clientAddress: () => '',
    enter: () => () => undefined,
    open: sessions.open,
    clock,
    log,
  })
  const server = createServer().on('upgrade', (...of) => void upgrade(...of))
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const running = [sessions.run(signal), recheck.run()]
  started.push(async () => {
    stopping.abort()
    await Promise.all(running)
    for (const { peer } of connections) peer.terminate()
    await new Promise((closed) => server.close(closed))
  })
  const connect = (options: { autoPong?: boolean } = {}) => {
    const ws = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}/api/realtime/connect/`, options)
    const seen = { pings: 0, closed: undefined as number | undefined, heard: [] as unknown[] }
    ws.on('message', (data) => seen.heard.push(JSON.parse(String(data))))
    ws.on('error', () => undefined)
    ws.on('ping', () => {
      seen.pings += 1
    })
    ws.on('close', (code) => {
      seen.closed = code
    })
    return {
      ws,
      seen,
      opens: () => eventually('the connection', async () => ws.readyState === WebSocket.OPEN),
      closes: () => eventually('its end', async () => seen.closed),
      /** Waits for the end and returns its code with the last message before it. */
      endsWith: async () => ({ code: await eventually('its end', async () => seen.closed), last: seen.heard.at(-1) }),
    }
  }
  return {
    clock,
    connections,
    sessions,
    connect,
    /** Advances the clock and runs the due checks of all connections. */
    advance: async (ms: number): Promise<void> => {
      clock.advance(ms)
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

describe('on a real socket', () => {
  test('ends a handshake that takes longer than five seconds', async () => {
    let asked = 0
    const { connect, advance } = await startServer(() => {
      asked += 1
      return new Promise(() => undefined)
    })
    const client = connect()
    await eventually('the question', async () => asked === 1)
    await advance(4_999)
    expect(client.seen.closed).toBe(undefined)
    await advance(1)
    expect(await client.closes()).toBe(1006)
  })

  test('starts the deadline of a queued handshake when its turn begins', async () => {
    let asked = 0
    const { connect, advance } = await startServer(() => {
      asked += 1
      return new Promise(() => undefined)
    })
    const clients = Array.from({ length: 49 }, () => connect())
    await eventually('48 questions', async () => asked === 48)
    const isOver = (): number => clients.filter(({ seen }) => seen.closed !== undefined).length
    await advance(5_000)
    await eventually('the next', async () => asked === 49 && isOver() === 48)
    await advance(5_000)
    await eventually('its end', async () => isOver() === 49)
  })

  test('cancels the deadline when the handshake is answered', async () => {
    const { connect, advance } = await startServer()
    const client = connect()
    await client.opens()
    await advance(10_000)
    client.ws.send('{}')
    await new Promise((resolve) => client.ws.once('message', resolve))
  })

  test('ends a client that leaves two pings unanswered and keeps one that answers', async () => {
    const { connect, connections, advance } = await startServer()
    const [silent, present] = [connect({ autoPong: false }), connect()]
    await silent.opens()
    await present.opens()
    for (const pings of [1, 2, 3]) {
      await advance(30_000)
      await eventually('the ping', async () => present.seen.pings === pings)
      await eventually('its answer', async () => [...connections].some(({ health }) => health.misses === 0))
    }
    expect(await silent.closes()).toBe(1006)
    expect(silent.seen.pings).toBe(2)
    expect(present.seen.closed).toBe(undefined)
  })

  test('closes a client without subscriptions after ten minutes and keeps one with a subscription', async () => {
    const { connect, connections, advance } = await startServer()
    const [idle, busy] = [connect(), connect()]
    await idle.opens()
    await busy.opens()
    busy.ws.send('{"action":"subscribe","resource":{"type":"liveConfig","id":"a"}}')
    await eventually('the subscription', async () =>
      [...connections].some(({ subscriptions }) => subscriptions.length === 1),
    )
    for (let at = 1; at <= 20; at += 1) {
      await advance(30_000)
      await eventually('both answers', async () => [...connections].every(({ health }) => health.misses === 0))
    }
    expect(idle.seen.closed).toBe(undefined)
    await advance(1_000)
    expect(await idle.endsWith()).toEqual({ code: 1000, last: closing('No subscription for ten minutes.') })
    expect(busy.seen.closed).toBe(undefined)
  })

  test('ends the connection of a user within a minute of the expiry of the token', async () => {
    let verify: Parameters<typeof createRecheck>[0]['verifyToken'] = async () => undefined
    let token = ''
    const { connect, clock, advance } = await startServer(
      async () => ({ principal: { ...platform, kind: 'user', id: 'ann' }, scope: aScope, token }),
      (given) => verify(given),
    )
    const sealer = createSealer([{ id: 'k', key: Buffer.alloc(32, 1) }])
    const issuer = createIssuer({ store: aStore(), sealer, clock, url: 'https://api.example' })
    verify = createTokenVerifier({ issuer, external: [], clock, confirm: async (principal) => principal })
    const expiresAt = new Date(clock.now() + 90_000)
    token = await issuer.sign({
      id: 'tok-1',
      keyId: 'key-1',
      userId: 'ann',
      organizationId: 'org-1',
      permissions: ['*'],
      expiresAt,
    })
    const client = connect()
    await client.opens()
    await advance(60_000)
    await advance(1_000)
    expect(client.seen.closed).toBe(undefined)
    // Clocks may differ by 30 s.
    await advance(119_000)
    expect(await client.endsWith()).toEqual({ code: 4401, last: closing('The credential is no longer valid.') })
  })

  test('sends the reason to clients of a deleted scope before it ends their connections', async () => {
    const { connect, advance } = await startServer(undefined, undefined, async () => false)
    const client = connect()
    await client.opens()
    await advance(60_000)
    expect(await client.endsWith()).toEqual({ code: 4404, last: closing('The scope no longer exists.') })
  })

  test('sends the reason to all clients before a restart closes their connections', async () => {
    const { connect, sessions, advance } = await startServer()
    const clients = [connect(), connect()]
    for (const client of clients) await client.opens()
    const drained = sessions.drain()
    await advance(10)
    for (const client of clients) {
      expect(await client.endsWith()).toEqual({ code: 1012, last: closing('The API is restarting. Connect again.') })
    }
    await advance(2_000)
    await drained
  })

  test('sends the error and the reason before every close that has a reason', async () => {
    const { connect, connections, sessions } = await startServer()
    for (const [why, [code, reason]] of Object.entries(endings)) {
      if (reason === '') continue
      const client = connect()
      await client.opens()
      const connection = await eventually('the connection', async () => [...connections].find(({ ended }) => !ended))
      sessions.end(connection, why as Ending)
      expect(await client.endsWith()).toEqual({ code, last: closing(reason) })
      await eventually('its removal', async () => connections.size === 0)
    }
  })

  test('many messages of a client do not delay one of another organization', async () => {
    const organizations = ['org-1', 'org-2']
    const admit = async () => ({
      ...byPlatform,
      scope: { ...aScope, organizationId: organizations.shift() ?? '' },
    })
    const { connect } = await startServer(admit, undefined, undefined, 0.5)
    const answered: string[] = []
    const hasty = connect()
    await hasty.opens()
    const other = connect()
    await other.opens()
    hasty.ws.once('message', () => other.ws.send('{}'))
    hasty.ws.on('message', () => answered.push('hasty'))
    other.ws.on('message', () => answered.push('other'))
    const subscribe = (id: number) => `{"action":"subscribe","resource":{"type":"liveConfig","id":"a${id}"}}`
    for (let id = 0; id < 250; id += 1) hasty.ws.send(subscribe(id))
    await eventually('all answers', async () => answered.length === 251)
    expect(answered.indexOf('other')).toBeLessThan(200)
  })

  test('ends a client above the message rate, or with a sixth malformed message, after a message with the reason', async () => {
    const { connect } = await startServer()
    const [hasty, confused] = [connect(), connect()]
    await hasty.opens()
    await confused.opens()
    for (let at = 0; at < 257; at += 1) {
      hasty.ws.send('{"action":"unsubscribe","resource":{"type":"liveConfig","id":"a"}}')
    }
    expect(await hasty.endsWith()).toEqual({ code: 1008, last: closing('Too many messages per second.') })
    for (let at = 0; at < 6; at += 1) confused.ws.send('{}')
    expect(await confused.endsWith()).toEqual({ code: 1008, last: closing('Too many malformed messages.') })
    expect(confused.seen.heard).toHaveLength(7)
  })
})

const closing = (message: string) => ({ error: 'Connection closed', message })

const aStore = (): KeyStore => {
  const keys: StoredKey[] = []
  return { list: async () => [...keys], add: async (key) => void keys.unshift(key) }
}
