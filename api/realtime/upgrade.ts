import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { type ServerOptions, WebSocketServer } from 'ws'
import type { Admission, Upgrade } from '#api/domain/endpoint/admission.ts'
import type { ClientAddress } from '#api/platform/http/clientAddress.ts'
import { Problem, problemResponse, toProblem } from '#api/platform/http/problem.ts'
import { createTurns } from '#api/platform/objects/turns.ts'
import type { Clock } from '#shared/clock.ts'
import type { Log } from '#shared/log.ts'
import { readHandshake } from './handshake.ts'
import { ClientSocket } from './socket.ts'

/** No HTTP timeout holds for a connection that asked for an upgrade: these are for its turn, and from then on. */
const turnMs = 20_000
const handshakeMs = 5_000
/** So many are answered at a time, and so many wait for their turn: all come back at once when a replica went. */
const handshakesAtOnce = 64
const maxWaiting = 20_000
const path = '/api/realtime/connect/'

/** Reports whether a request is a WebSocket handshake. Every other request is answered as HTTP. */
export const isUpgrade = ({ method, url = '', headers }: IncomingMessage): boolean => {
  const [pathname = ''] = url.split('?')
  return (
    method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && (pathname === path || `${pathname}/` === path)
  )
}

export type UpgradeOptions = {
  /** Answers the request as the route says. */
  readonly fetch: (
    request: Request,
    env: { incoming: IncomingMessage; upgrade: Upgrade },
  ) => Response | Promise<Response>
  /** Takes a place for a connection; returns how to give it back. */
  readonly enter: (admission: Admission, address: string) => () => void
  /** Takes the open connection over. */
  readonly open: (ws: ClientSocket, socket: Duplex, admission: Admission) => void
  readonly clientAddress: ClientAddress
  readonly clock: Clock
  readonly log: Log
}

/** The options of ws. Compression is off, since it costs 430 KB per connection, and buffers are bounded. */
const wsOptions: ServerOptions<typeof ClientSocket> & { maxBufferedChunks: number; closeTimeout: number } = {
  noServer: true,
  WebSocket: ClientSocket,
  clientTracking: false,
  perMessageDeflate: false,
  autoPong: false,
  maxPayload: 16 * 1024,
  maxFragments: 16,
  maxBufferedChunks: 1_024,
  closeTimeout: 5_000,
}

/** Answers upgrades: with 101 where the route admits them, else with the route's own answer. */
export const createUpgrade = ({ fetch, clientAddress, enter, open, clock, log }: UpgradeOptions) => {
  const answers = new WeakMap<IncomingMessage, string>()
  const server = new WebSocketServer({
    ...wsOptions,
    handleProtocols: (_, request) => answers.get(request) ?? false,
  })
  const takeTurn = createTurns({ maxConcurrent: handshakesAtOnce, maxQueued: maxWaiting })

  const decide = async (request: IncomingMessage, address: string): Promise<Decision> => {
    const handshake = readHandshake(request.headers['sec-websocket-protocol'], headersOf(request))
    const fault = 'fault' in handshake ? handshake.fault : undefined
    const headers = 'fault' in handshake ? headersOf(request) : handshake.headers
    if ('answer' in handshake && handshake.answer !== undefined) answers.set(request, handshake.answer)
    let admitted: { admission: Admission; leave: () => void } | undefined
    const admit = (admission: Admission): void => {
      admitted = { admission, leave: enter(admission, address) }
    }
    try {
      const asked = new Request(`http://realtime${path}`, { headers })
      const response = await fetch(asked, { incoming: request, upgrade: { fault, admit } })
      return admitted ?? { response }
    } catch (error) {
      admitted?.leave()
      throw error
    }
  }

  const settle = async (request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    try {
      const wrong = wrongHandshake(request)
      if (wrong !== undefined) return await answer(socket, responseTo(wrong))
      const decision = await decide(request, clientAddress(request))
      if ('response' in decision) return await answer(socket, decision.response)
      const { admission, leave } = decision
      socket.on('close', leave)
      if (socket.destroyed) return leave()
      server.handleUpgrade(request, socket, head, (ws) => open(ws, socket, admission))
    } catch (error) {
      const problem = toProblem(error)
      if (problem.status === 500) log.error({ err: error }, 'realtime: an upgrade failed')
      await answer(socket, responseTo(problem))
    }
  }

  /** Destroys the socket after the time, unless `over` comes first; resolves then. */
  const within = async (limitMs: number, socket: Duplex, over: Promise<void>): Promise<void> => {
    const late = Promise.withResolvers<void>()
    const deadline = clock.setTimeout(() => {
      socket.destroy()
      late.resolve()
    }, limitMs)
    await Promise.race([over, late.promise])
    deadline.cancel()
  }

  return async (request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    // A reset before anybody listens would end the process.
    socket.on('error', ignore)
    const turn = Promise.withResolvers<void>()
    const answered = takeTurn(async () => {
      turn.resolve()
      if (!socket.destroyed) await within(handshakeMs, socket, settle(request, socket, head))
    })
    if (answered === undefined) {
      return await answer(socket, responseTo(new Problem('unavailable', 'Too many connect at once.', again)))
    }
    await within(turnMs, socket, turn.promise)
    await answered
  }
}

type Decision = { admission: Admission; leave: () => void } | { response: Response }
const again = { headers: { 'retry-after': '1' } }

/** ws answers these in plain text, so they are looked at before it does (RFC 6455, 4.2.1). */
const wrongHandshake = ({ headers }: IncomingMessage): Problem | undefined => {
  if (headers['sec-websocket-version'] !== '13') {
    const more = { headers: { upgrade: 'websocket', 'sec-websocket-version': '13' } }
    return new Problem('upgrade_required', 'Connect with WebSocket, version 13.', more)
  }
  if (/^[+/0-9A-Za-z]{22}==$/.test(headers['sec-websocket-key'] ?? '')) return undefined
  return new Problem('invalid_request', 'The header sec-websocket-key is not as RFC 6455 says.')
}

/** The headers that the route reads; the protocol header is not among them, so that nobody can log it. */
const headersOf = ({ headers }: IncomingMessage): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      typeof value === 'string' && passedOn.has(name) ? [[name, value]] : [],
    ),
  )

const passedOn = new Set([
  ...['x-api-key', 'authorization', 'origin', 'x-request-id', 'user-agent'],
  ...['x-svc-organization-id', 'x-svc-project-id', 'x-svc-world-id'],
])

/** Outside of all others: one made beside the request would keep the request for as long as the socket lives. */
const ignore = (): void => undefined

const responseTo = (problem: Problem): Response => {
  const { body, ...rest } = problemResponse(problem, '')
  return new Response(body, rest)
}

/** Writes an answer to a connection that HTTP has let go of, and ends it. */
const answer = async (socket: Duplex, response: Response): Promise<void> => {
  const body = Buffer.from(await response.arrayBuffer())
  const headers = new Headers(response.headers)
  headers.set('content-length', String(body.length))
  headers.set('connection', 'close')
  const lines = [...headers].map(([name, value]) => `${name}: ${value}\r\n`).join('')
  if (!socket.writable) return
  socket.once('finish', () => socket.destroy())
  socket.end(
    Buffer.concat([
      Buffer.from(`HTTP/1.1 ${response.status} ${STATUS_CODES[response.status] ?? ''}\r\n${lines}\r\n`, 'latin1'),
      body,
    ]),
  )
}
