import { Socket as DatagramSocket } from 'node:dgram'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { createTokenVerifier } from '#api/domain/access/token.ts'
import { createLogSource } from '#api/platform/logs/source.ts'
import { createIssuerFetch } from '#api/platform/openId/issuerFetch.ts'
import { createSend } from '#api/platform/webhooks/send.ts'
import { openPki } from '#dev/kubernetes/pki.ts'
import { openLog } from '#operator/logs/read.ts'
import type { Pod } from '#operator/pods/pod.ts'
import { askServer } from '#operator/world/execute/askServer.ts'
import type { ServerQuery } from '#shared/domain/query.ts'
import { createCredentials } from '#shared/kube/credentials.ts'
import { createTransport } from '#shared/kube/transport.ts'
import { createLog } from '#shared/log.ts'
import { createFakeClock, type FakeClock } from './fakeClock.ts'
import {
  changedDatagrams,
  cutDatagrams,
  cutPeers,
  endlessPeers,
  type HostileDatagrams,
  type HostilePeer,
  hostileDatagrams,
  hostilePeers,
  httpAnswer,
  startHostileDatagrams,
  startHostilePeer,
} from './hostilePeers.ts'
import { eventually } from './wait.ts'

const log = createLog({ name: 'test', level: 'silent' })
const dir = mkdtempSync(join(tmpdir(), 'orrery-peers-'))
const pod: Pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'w', namespace: 'a', uid: 'u' } }
let caFile: string
let plain: Awaited<ReturnType<typeof startHostilePeer>>
let secure: Awaited<ReturnType<typeof startHostilePeer>>
let datagrams: Awaited<ReturnType<typeof startHostileDatagrams>>
beforeAll(async () => {
  const pki = await openPki(dir, Date.now())
  const { certFile, keyFile } = await pki.server('peer', ['localhost', '127.0.0.1'])
  caFile = pki.caFile
  plain = await startHostilePeer()
  datagrams = await startHostileDatagrams()
  secure = await startHostilePeer({ cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') })
})
afterAll(() => {
  plain.close()
  secure.close()
  datagrams.close()
  rmSync(dir, { recursive: true })
})

/** The sockets that the caller has opened. */
let sockets: Socket[] = []
let udpSockets: DatagramSocket[] = []
/** The length of each datagram that has arrived. */
let read: number[] = []
beforeEach(() => {
  sockets = []
  const { connect } = Socket.prototype
  vi.spyOn(Socket.prototype, 'connect').mockImplementation(function (this: Socket, ...options: unknown[]) {
    sockets.push(this)
    return Reflect.apply(connect, this, options)
  })
  udpSockets = []
  read = []
  const connectUdp = DatagramSocket.prototype.connect
  vi.spyOn(DatagramSocket.prototype, 'connect').mockImplementation(function (this: DatagramSocket, ...options) {
    udpSockets.push(this)
    this.on('message', (bytes) => read.push(bytes.length))
    return Reflect.apply(connectUdp, this, options)
  })
  // The deadlines of the Kubernetes client are real timers.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

type Call = (options: { port: number; clock: FakeClock }) => Promise<unknown>

/** Reads the first 32 KiB of a log. */
const drain = async (chunks: AsyncIterable<Buffer>): Promise<string> => {
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.length
    if (bytes > 32_768) break
  }
  return 'a log'
}
const transportTo = (scheme: string, port: number) =>
  createTransport({
    credentials: createCredentials({
      server: `${scheme}://127.0.0.1:${port}`,
      ...(scheme === 'https' && { ca: { file: caFile } }),
    }),
    userAgent: 'test',
  })
const readFrom =
  (scheme: string, follow: boolean): Call =>
  async ({ port }) => {
    const { signal } = new AbortController()
    const transport = transportTo(scheme, port)
    try {
      return await drain(await openLog(transport, { pod, role: 'server' }, { options: { follow }, signal }))
    } finally {
      await transport.close()
    }
  }
const sourceOf = (scheme: string, { port, clock }: Parameters<Call>[0]) =>
  createLogSource(
    {
      url: `${scheme}://127.0.0.1:${port}`,
      caFile: scheme === 'https' ? caFile : undefined,
      key: 'k'.repeat(32),
      audience: 'a',
    },
    { clock, log },
  )
const ticket = { kind: 'World', namespace: 'n', name: 'w', uid: 'u', runId: 'r', podUid: 'p', follow: false } as const
const openFrom =
  (scheme: string): Call =>
  async (options) => {
    const source = sourceOf(scheme, options)
    const reading = new AbortController()
    options.clock.setTimeout(() => reading.abort(), 60_000)
    try {
      const opened = await source.open({ ...ticket, source: 'pod' }, reading.signal)
      return 'chunks' in opened ? await drain(opened.chunks) : opened
    } finally {
      await source.close()
    }
  }
const sampleFrom =
  (scheme: string): Call =>
  async (options) => {
    const source = sourceOf(scheme, options)
    try {
      return await source.readSample({ ...ticket, source: 'metrics' })
    } finally {
      await source.close()
    }
  }

type Caller = {
  readonly call: Call
  readonly isSecure?: boolean
  /** The bytes that it may read; those of a log come on top. */
  readonly maxBytes: number
  /** The bytes of a refusal, if they are more. */
  readonly maxRefusalBytes?: number
  /** The body of a valid answer over HTTP, or the bytes of another one. */
  readonly body?: string
  readonly answer?: Buffer
  readonly valid: unknown
}

const aLog = { maxBytes: 512 * 1024, body: 'line\n', valid: 'a log' }
const sample = {
  podUid: 'p',
  sampledAt: '2026-11-21T08:00:00.000Z',
  windowSeconds: 15,
  cpuMillicores: 1,
  memoryBytes: 2,
}
const aSample = { maxBytes: 512 * 1024, body: JSON.stringify(sample), valid: sample }
/** A refusal of the API server may be as large as an object. */
const maxRefusalBytes = 9 * 1024 * 1024

/** Asks for the players of a server, for at most two seconds. */
const playersOf =
  (protocol: ServerQuery['protocol']): Call =>
  async ({ port, clock }) => {
    const abort = new AbortController()
    clock.setTimeout(() => abort.abort(), 2_000)
    const answer = await askServer({ protocol, host: '127.0.0.1', port }, abort.signal)
    if (answer?.kind !== 'report') throw new Error('no usable answer')
    return answer.report.players
  }

/** Returns the status of a server list ping. Its lengths fit in 7 bits. */
const listPing = (json: string): Buffer =>
  Buffer.concat([Uint8Array.of(json.length + 2, 0, json.length), Buffer.from(json)])

const callers: Record<string, Caller> = {
  webhooks: {
    isSecure: true,
    maxBytes: 64 * 1024,
    body: '{}',
    valid: { statusCode: 200 },
    call: async ({ port, clock }) => {
      const authorities = [readFileSync(caFile, 'utf8')]
      const resolve = async () => ['127.0.0.1']
      const send = createSend({ resolve, isAllowed: () => true, authorities, timeoutMs: 10_000, clock })
      const result = await send({ url: `https://localhost:${port}/`, headers: {}, body: '{}' })
      if ('failure' in result) throw new Error(result.failure)
      return result
    },
  },
  'keys of token issuers': {
    maxBytes: 256 * 1024,
    body: '{"keys":[]}',
    valid: undefined,
    call: ({ port, clock }) => {
      const jwksUrl = `http://127.0.0.1:${port}/jwks`
      const external = [{ issuer: 'i', audience: 'a', jwksUrl, organizations: ['*'], groupsClaim: 'groups' }]
      const issuer = { verify: () => Promise.reject(new Error('not called')) }
      const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
      const verify = createTokenVerifier({ issuer, external, clock, confirm: async (principal) => principal })
      return verify(`${part({ alg: 'ES256', kid: 'k' })}.${part({ iss: 'i' })}.AA`)
    },
  },
  'answers of an OpenID issuer': {
    maxBytes: 256 * 1024,
    body: '{"issuer":"i"}',
    valid: { issuer: 'i' },
    call: async ({ port, clock }) => {
      const init = { method: 'GET', headers: {}, body: undefined, redirect: 'manual' } as const
      return (await createIssuerFetch('i', clock)(`http://127.0.0.1:${port}/`, init)).json()
    },
  },
  '/readyz': { maxBytes: 8 * 1024, body: '{"active":1,"queued":2}', valid: 1, call: playersOf('Http') },
  'players by MinecraftJava': {
    maxBytes: 64 * 1024,
    answer: listPing('{"version":{"name":"1.21","protocol":767},"players":{"max":20,"online":3}}'),
    valid: 3,
    call: playersOf('MinecraftJava'),
  },
  'logs of the operator': { ...aLog, call: openFrom('http') },
  'logs of the operator over TLS': { ...aLog, call: openFrom('https'), isSecure: true },
  'samples of the operator': { ...aSample, call: sampleFrom('http') },
  'samples of the operator over TLS': { ...aSample, call: sampleFrom('https'), isSecure: true },
  'logs of the API server': { ...aLog, call: readFrom('http', false), maxRefusalBytes },
  'logs of the API server over TLS': { ...aLog, call: readFrom('https', true), isSecure: true, maxRefusalBytes },
}
const peers = { ...hostilePeers, ...endlessPeers }
const silentPeers = ['sends nothing', 'sends half a line', 'sends a body of one byte at a time']

/**
 * Reports whether only the deadline may end a call. Undici reads chunk extensions without a limit of its own, and the first byte of HTTP
 * announces 72 bytes in a server list ping.
 */
const endsAtDeadline = (caller: string, peer: string): boolean =>
  silentPeers.includes(peer) ||
  (caller.endsWith('MinecraftJava') && peer.startsWith('answers 101')) ||
  (/^(logs|samples)/.test(caller) && peer === 'sends a chunk extension without end')

type Meeting = { readonly caller: Caller; readonly peer: HostilePeer; readonly isSlow?: boolean }

/** Lets a caller meet a peer until all sockets are closed, and returns the result or 'failed'. The clock stands unless `isSlow`. */
const meet = async ({ caller: { call, isSecure = false }, peer, isSlow = false }: Meeting) => {
  const server = isSecure ? secure : plain
  server.become(peer)
  const clock = createFakeClock()
  let isSettled = false
  const result = call({ port: server.port, clock })
    .catch(() => 'failed')
    .finally(() => {
      isSettled = true
    })
  if (isSlow) await eventually('the request has arrived', async () => server.requests() > 0)
  for (let second = 0; isSlow && second < 1_000 && !isSettled; second += 1) {
    server.tick()
    clock.advance(1_000)
    vi.advanceTimersByTime(1_000)
    for (let turns = 0; turns < 5; turns += 1) await turn()
  }
  await result
  await server.closed()
  expect(sockets.every(({ destroyed }) => destroyed)).toBe(true)
  return result
}

const meetings = Object.keys(callers).flatMap((caller) => Object.keys(peers).map((peer) => [caller, peer] as const))

test.each(meetings)('a call for %s ends, within its bytes, if the peer %s', async (name, what) => {
  const [caller, peer] = [callers[name], peers[what]]
  if (caller === undefined || peer === undefined) throw new Error('no such meeting')
  const isSlow = endsAtDeadline(name, what)
  const result = await meet({ caller, peer, isSlow })
  const read = sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0)
  const { maxBytes, maxRefusalBytes = maxBytes } = caller
  if (!isSlow) expect(read).toBeLessThanOrEqual(what === 'sends an endless refusal' ? maxRefusalBytes : maxBytes)
  // The status of a webhook counts, and so does the part of a log that has arrived.
  const mayCount = what in endlessPeers && (name === 'webhooks' || name.startsWith('logs'))
  if (!mayCount) expect(result).toBe('failed')
})

test.each(Object.entries(callers))(
  'a call for %s ends if the connection ends after any number of bytes, and its result is right',
  async (_, caller) => {
    let result: unknown
    for (const [what, peer] of Object.entries(cutPeers(caller.answer ?? httpAnswer(caller.body ?? '')))) {
      result = await meet({ caller, peer })
      if (result !== 'failed') expect([what, result]).toEqual([what, caller.valid])
    }
    // The last peer sends the whole answer.
    expect(result).toEqual(caller.valid)
  },
)

const long = (number: number): Uint8Array => Uint8Array.of(number >>> 24, number >>> 16, number >>> 8, number)
const short = (number: number): Uint8Array => Uint8Array.of(number >>> 8, number)

const a2sAnswer = (): Buffer =>
  Buffer.concat([
    Buffer.from('\xff\xff\xff\xffI\x11name\0map\0folder\0game\0', 'latin1'),
    // The app id, players, maximum, bots, type, environment, visibility and VAC.
    Uint8Array.of(0, 0, 3, 20, 0, 0x64, 0x6c, 0, 0),
    Buffer.from('1.0\0'),
    Uint8Array.of(0),
  ])
const bedrockAnswer = (question: Buffer): Buffer => {
  const words = Buffer.from('MCPE;name;786;1.21;3;20;1;world;Survival;')
  // The time and the magic of the question.
  const [time, magic] = [question.subarray(1, 9), question.subarray(9, 25)]
  return Buffer.concat([Uint8Array.of(0x1c), time, Buffer.alloc(8), magic, short(words.length), words])
}
const sqpAnswer = (question: Buffer): Buffer => {
  if (question[0] === 0) return Buffer.from([0, 1, 2, 3, 4])
  const text = (words: string): Buffer => Buffer.concat([Uint8Array.of(words.length), Buffer.from(words)])
  const info = Buffer.concat([short(3), short(20), ...['name', 'ctf', '1.0', 'map'].map(text), short(1_025)])
  const chunk = Buffer.concat([long(info.length), info])
  return Buffer.concat([Uint8Array.of(1), question.subarray(1, 5), short(1), short(0), short(chunk.length), chunk])
}
const udpProtocols = [
  ['A2S', a2sAnswer],
  ['MinecraftBedrock', bedrockAnswer],
  ['SQP', sqpAnswer],
] as const

/** Lets a question by UDP meet a peer, and returns the result or 'failed'. Its deadline comes after everything that the peer sends. */
const meetDatagrams = async (
  protocol: ServerQuery['protocol'],
  peer: HostileDatagrams,
  answer: (question: Buffer) => Buffer,
) => {
  datagrams.become(peer, answer)
  const clock = createFakeClock()
  const result = playersOf(protocol)({ port: datagrams.port, clock }).catch(() => 'failed')
  await datagrams.answered()
  for (let turns = 0; turns < 20; turns += 1) await turn()
  clock.advance(2_000)
  await result
  for (const socket of udpSockets) expect(() => socket.address(), 'the socket is closed').toThrow()
  return result
}

test.each(udpProtocols)(
  'a question by %s ends, within its bytes, whatever the peer sends',
  async (protocol, answer) => {
    for (const [what, peer] of Object.entries(hostileDatagrams)) {
      read = []
      expect([what, await meetDatagrams(protocol, peer, answer)]).toEqual([what, 'failed'])
      expect(read.length).toBeLessThanOrEqual(64)
      // The last datagram may go beyond.
      expect(read.slice(0, -1).reduce((sum, length) => sum + length, 0)).toBeLessThan(65_536)
    }
  },
)

test.each(udpProtocols)(
  'a question by %s ends if the answer ends after any number of bytes, and its result is right',
  async (protocol, answer) => {
    let result: unknown
    for (const [what, peer] of Object.entries(cutDatagrams(answer(Buffer.alloc(64, 1)).length))) {
      result = await meetDatagrams(protocol, peer, answer)
      expect([what, result]).toEqual([what, result === 'failed' ? 'failed' : 3])
    }
    // The last peer sends the whole answer.
    expect(result).toBe(3)
  },
)

test.each(udpProtocols)('a question by %s ends if any byte of the answer is wrong', async (protocol, answer) => {
  for (const peer of Object.values(changedDatagrams(answer(Buffer.alloc(64, 1)).length))) {
    const result = await meetDatagrams(protocol, peer, answer)
    expect(result === 'failed' || typeof result === 'number').toBe(true)
  }
})
