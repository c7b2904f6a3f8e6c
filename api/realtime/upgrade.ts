import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { type ServerOptions, WebSocketServer } from 'ws'
import { ticketHeader } from '#api/domain/access/scope.ts'
import type { Admission, Upgrade } from '#api/domain/endpoint/admission.ts'
import { addressBlock, type ClientAddress } from '#api/platform/http/clientAddress.ts'
import { Problem, problemResponse, toProblem } from '#api/platform/http/problem.ts'
import type { Clock } from '#shared/clock.ts'
import type { Log } from '#shared/log.ts'
import { createTurns, type TurnLimits } from '#shared/turns.ts'
import { readHandshake } from './handshake.ts'
import { ClientSocket } from './socket.ts'

/** HTTP timeouts do not apply to upgrade requests. These limit the wait in the queue and the handshake itself. */
const turnMs = 20_000
const handshakeMs = 5_000
/** Addresses take turns, since a handshake is not authenticated yet. All clients reconnect at once when a replica stops. */
const turns: TurnLimits = { slots: 64, reserve: 16, maxWaiting: 20_000, maxWaitingOfOne: 10_000 }
const path = '/api/realtime/connect/'

/** Reports whether a request is a WebSocket handshake. Every other request is answered as HTTP. */
export const isUpgrade = ({ method, url = '', headers }: IncomingMessage): boolean => {
  const [pathname = ''] = url.split('?')
  return (
    method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && (pathname === path || `${pathname}/` === path)
  )
}

export type UpgradeOptions = {
  /** Runs the route of the request and returns its response. */
  readonly fetch: (
    request: Request,
    env: { incoming: IncomingMessage; upgrade: Upgrade },
  ) => Response | Promise<Response>
  /** Counts a connection against the limits and returns a function that ends the count. */
  readonly enter: (admission: Admission, address: string) => () => void
  /** Registers the open connection. */
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
  // A message of 16 KiB arrives in 12 segments of Ethernet. Each segment that waits takes up to 1 KiB, however small it is.
  maxBufferedChunks: 64,
  closeTimeout: 5_000,
}

/** Returns a handler of upgrade requests. It responds with 101 if the route admits the connection, else with the response of the route. */
export const createUpgrade = ({ fetch, clientAddress, enter, open, clock, log }: UpgradeOptions) => {
  const answers = new WeakMap<IncomingMessage, string>()
  const server = new WebSocketServer({
    ...wsOptions,
    handleProtocols: (_, request) => answers.get(request) ?? false,
  })
  const runInTurn = createTurns('handshakes', turns)

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
      const wrong = handshakeProblem(request)
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

  /** Waits for `done`. Destroys the socket if that takes longer than the limit. */
  const within = async (limitMs: number, socket: Duplex, done: Promise<void>): Promise<void> => {
    const late = Promise.withResolvers<void>()
    const deadline = clock.setTimeout(() => {
      socket.destroy()
      late.resolve()
    }, limitMs)
    await Promise.race([done, late.promise])
    deadline.cancel()
  }

  return async (request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    // An unhandled error event of the socket would end the process.
    socket.on('error', ignore)
    const turn = Promise.withResolvers<void>()
    const handshake = async (): Promise<void> => {
      turn.resolve()
      if (!socket.destroyed) await within(handshakeMs, socket, settle(request, socket, head))
    }
    const answered = runInTurn(addressBlock(clientAddress(request)), handshake, tooMany).catch((error: unknown) =>
      answer(socket, responseTo(toProblem(error))),
    )
    await within(turnMs, socket, Promise.race([turn.promise, answered]))
    await answered
  }
}

type Decision = { admission: Admission; leave: () => void } | { response: Response }
const tooMany = (): Problem => {
  const detail = 'Too many clients are connecting. Retry after the time in Retry-After.'
  return new Problem('unavailable', detail, { headers: { 'retry-after': '1' } })
}

/** Returns the problem of an invalid handshake (RFC 6455, section 4.2.1). ws would respond in plain text. */
const handshakeProblem = ({ headers }: IncomingMessage): Problem | undefined => {
  if (headers['sec-websocket-version'] !== '13') {
    const more = { headers: { upgrade: 'websocket', 'sec-websocket-version': '13' } }
    return new Problem('upgrade_required', 'Connect with WebSocket, version 13.', more)
  }
  if (/^[+/0-9A-Za-z]{22}==$/.test(headers['sec-websocket-key'] ?? '')) return undefined
  return new Problem('invalid_request', 'The header sec-websocket-key is invalid (RFC 6455).')
}

/** Returns the headers that the route reads. The protocol header is left out, since it contains a credential. */
const headersOf = ({ headers }: IncomingMessage): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      typeof value === 'string' && forwardedHeaders.has(name) ? [[name, value]] : [],
    ),
  )

const forwardedHeaders = new Set([
  ...['x-api-key', 'authorization', ticketHeader, 'host', 'origin', 'x-request-id', 'user-agent'],
  ...['x-svc-organization-id', 'x-svc-project-id', 'x-svc-world-id'],
])

/** Defined at module level, because a closure in the handler would keep the request in memory as long as the socket. */
const ignore = (): void => undefined

const responseTo = (problem: Problem): Response => {
  const { body, ...rest } = problemResponse(problem, '')
  return new Response(body, rest)
}

/** Writes a response to a socket that the HTTP server has released, and closes it. */
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
