import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readMetric } from '#test/support/metrics.ts'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import { inNewProject } from '#test/support/rest.ts'
import { openSocket, scopeHeaders } from '#test/support/socket.ts'
import { eventually } from '#test/support/wait.ts'

let api: ApiProcess
beforeAll(async () => {
  api = await startApi({ databaseUrl: await aDatabase() })
})
afterAll(() => api?.stop())

const aProject = async () => {
  const rest = await inNewProject(api.url)
  const config = (id: string, data: object) =>
    rest.call('PUT', `/api/documents/liveConfig/${id}/`, { data: { id, config: data } })
  return { ...rest, config, socket: () => openSocket(api.url, rest.scope) }
}

const metric = (name: string): Promise<number> => readMetric(api.metricsUrl, name)

/** Opens a raw connection with a WebSocket upgrade, so that the test controls every byte. */
const rawSocket = async (scope: { organizationId?: string; projectId?: string }) => {
  const { port } = new URL(api.url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.on('error', () => undefined)
  const headers = Object.entries(scopeHeaders(scope)).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(
    'GET /api/realtime/connect/ HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n' +
      `sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n${headers.join('')}\r\n`,
  )
  await new Promise((resolve) => socket.once('data', resolve))
  return {
    socket,
    /** Sends one frame, masked by zeros. */
    frame: (opcode: number, text: string): void => {
      const payload = Buffer.from(text)
      const length = payload.length < 126 ? [0x80 | payload.length] : [0xfe, payload.length >> 8, payload.length & 255]
      socket.write(Buffer.concat([Buffer.from([0x80 | opcode, ...length, 0, 0, 0, 0]), payload]))
    },
  }
}

/** Reports whether the server closed a connection. Discards unread data. */
const isOver = (socket: Socket): boolean => {
  socket.resume()
  return socket.destroyed || socket.readableEnded
}

const subscribe = (id: string): string => JSON.stringify({ action: 'subscribe', resource: { type: 'liveConfig', id } })

describe('a client', () => {
  test('that does not read makes the API read only what it can send, and one that reads gets each document once', async () => {
    const { scope, config, socket } = await aProject()
    const ids = Array.from({ length: 20 }, (_, at) => `large-${at}`)
    // Random text, which Postgres cannot compress.
    for (const id of ids) await config(id, { text: randomBytes(500_000).toString('base64') })
    await config('small', { n: 1 })
    const droppedBefore = await metric('orrery_realtime_dropped_total')
    const mute = await rawSocket(scope)
    mute.socket.pause()
    for (const id of ids) mute.frame(1, subscribe(id))
    await eventually('a full buffer', async () => (await metric('orrery_realtime_buffered_bytes')) > 256 * 1024)
    const reader = await socket()
    reader.subscribe('liveConfig', 'small')
    await reader.hears('the small document', () => reader.heard.length === 1)
    expect((await metric('orrery_realtime_dropped_total')) - droppedBefore).toBeLessThan(4)
    for (const id of ids) reader.subscribe('liveConfig', id)
    await reader.hears('all documents', () => reader.heard.length > ids.length)
    expect(reader.heard.map(({ resource }) => resource?.id).sort()).toEqual([...ids, 'small'].sort())
    mute.socket.destroy()
  })

  test('that never reads uses bounded memory and is closed, without affecting others', async () => {
    const { scope, config, socket } = await aProject()
    const mute = await rawSocket(scope)
    mute.socket.pause()
    for (let at = 0; at < 8; at += 1) mute.frame(1, subscribe(`doc-${at}`))
    const reader = await socket()
    for (let at = 0; at < 8; at += 1) reader.subscribe('liveConfig', `doc-${at}`)
    await reader.hears('all warnings', () => reader.heard.length === 8)
    const text = 'x'.repeat(500_000)
    const buffered: number[] = []
    let rounds = 0
    for (; rounds < 12; rounds += 1) {
      for (let at = 0; at < 8; at += 1) await config(`doc-${at}`, { text, rounds })
      buffered.push(await metric('orrery_realtime_buffered_bytes'))
    }
    await reader.hears('the last', ({ data }) => (data?.config as { rounds?: number })?.rounds === rounds - 1)
    // 48 MB of updates were due: more than the socket buffers hold at once, and only a bounded part of them was queued.
    expect(Math.max(...buffered)).toBeGreaterThan(500_000)
    expect(Math.max(...buffered)).toBeLessThan(5_000_000)
    await eventually('its end', async () => (await metric('orrery_realtime_closed_total{reason="stalled"}')) === 1)
    expect(reader.isOpen()).toBe(true)
    expect(await metric('orrery_realtime_dropped_total')).toBeGreaterThan(0)
    mute.socket.destroy()
  })

  test('that reads slowly ends with the newest versions, and its versions never decrease', async () => {
    const { config, socket } = await aProject()
    const slow = await socket()
    for (let at = 0; at < 4; at += 1) slow.subscribe('liveConfig', `doc-${at}`)
    await slow.hears('all warnings', () => slow.heard.length === 4)
    slow.ws.pause()
    const text = 'x'.repeat(300_000)
    for (let round = 0; round < 10; round += 1)
      for (let at = 0; at < 4; at += 1) await config(`doc-${at}`, { text, round })
    slow.ws.resume()
    for (let at = 0; at < 4; at += 1) {
      const id = `doc-${at}`
      await slow.hears(
        `the newest ${id}`,
        ({ resource, data }) => resource?.id === id && (data?.config as { round?: number })?.round === 9,
      )
      const versions = slow.updatesOf(id).map(({ version = '' }) => version)
      expect(versions).toEqual([...new Set(versions)].sort())
    }
  })

  test('that sends more than 16 KiB is closed with 1009, after a message with the reason', async () => {
    const client = await (await aProject()).socket()
    client.send('x'.repeat(16 * 1024 + 1))
    expect((await client.closes()).code).toBe(1009)
    expect(client.heard.at(-1)).toEqual({ error: 'Connection closed', message: 'A message is larger than 16 KiB.' })
  })

  test('that floods is closed with 1008', async () => {
    const client = await (await aProject()).socket()
    for (let at = 0; at < 1_000; at += 1)
      client.send({ action: 'unsubscribe', resource: { type: 'liveConfig', id: 'a' } })
    expect(await client.closes()).toMatchObject({ code: 1008 })
    expect(client.heard.at(-1)).toEqual({ error: 'Connection closed', message: 'Too many messages per second.' })
  })

  test('that floods with pings and reads no answer is closed', async () => {
    const { scope } = await aProject()
    const { socket, frame } = await rawSocket(scope)
    for (let at = 0; at < 1_000; at += 1) frame(9, 'x'.repeat(120))
    await eventually('the end', async () => isOver(socket))
  })

  test('gets an error for each malformed message and is closed with 1008 at the sixth', async () => {
    const client = await (await aProject()).socket()
    for (let at = 0; at < 6; at += 1) client.send('{')
    expect((await client.closes()).code).toBe(1008)
    expect(client.heard).toEqual([
      ...Array.from({ length: 6 }, () => ({ error: 'Invalid message format' })),
      { error: 'Connection closed', message: 'Too many malformed messages.' },
    ])
  })

  test.each([
    ['an unmasked frame', Buffer.from([0x81, 0x01, 0x61]), 'A frame breaks the WebSocket protocol.'],
    ['a reserved bit', Buffer.from([0xc1, 0x81, 0, 0, 0, 0, 0x61]), 'A frame breaks the WebSocket protocol.'],
    ['a text that is not UTF-8', Buffer.from([0x81, 0x81, 0, 0, 0, 0, 0xff]), 'A text message is not valid UTF-8.'],
    [
      'an endless message',
      Buffer.concat([
        Buffer.from([0x01, 0x80, 0, 0, 0, 0]),
        Buffer.alloc(6 * 40).fill(Buffer.from([0x00, 0x80, 0, 0, 0, 0])),
      ]),
      '',
    ],
  ])('that breaks the protocol by %s is closed, after a message with the reason', async (_, bytes, reason) => {
    const { scope } = await aProject()
    const { socket } = await rawSocket(scope)
    let received = ''
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
    })
    socket.write(bytes)
    await eventually('the end', async () => isOver(socket))
    expect(received).toContain(reason)
  })

  test('that resets during its upgrade does not affect others', async () => {
    const { scope, socket } = await aProject()
    const { port } = new URL(api.url)
    const headers = Object.entries(scopeHeaders(scope)).map(([name, value]) => `${name}: ${value}\r\n`)
    for (let at = 0; at < 50; at += 1) {
      const raw = connect(Number(port), '127.0.0.1')
      raw.on('error', () => undefined)
      raw.write(
        'GET /api/realtime/connect/ HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n' +
          `sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n${headers.join('')}\r\n`,
        () => raw.resetAndDestroy(),
      )
    }
    const client = await socket()
    client.subscribe('liveConfig', 'a')
    await client.hears('an answer', ({ warning }) => warning !== undefined)
    await eventually('no other connection', async () => (await metric('orrery_realtime_connections')) <= 10)
  })

  test('that closed ends its subscriptions', async () => {
    const { socket } = await aProject()
    const before = await metric('orrery_realtime_subscriptions')
    const clients = await Promise.all(Array.from({ length: 20 }, socket))
    for (const client of clients) for (const id of ['a', 'b', 'c']) client.subscribe('liveConfig', id)
    await eventually('60 more', async () => (await metric('orrery_realtime_subscriptions')) === before + 60)
    for (const client of clients) client.terminate()
    await eventually('none of them', async () => (await metric('orrery_realtime_subscriptions')) === before)
  })
})

test('a shutdown closes all connections with 1012 and refuses new ones', async () => {
  const mortal = await startApi({ databaseUrl: await aDatabase() })
  const { scope } = await inNewProject(mortal.url)
  const clients = await Promise.all(Array.from({ length: 50 }, () => openSocket(mortal.url, scope)))
  mortal.signal('SIGTERM')
  for (const client of clients) expect((await client.closes()).code).toBe(1012)
  await mortal.exited
})
