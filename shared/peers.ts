import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type LookupFunction, Socket } from 'node:net'
import { connect as connectTls, type SecureContext } from 'node:tls'
import type { Clock } from './clock.ts'
import { withDefined } from './optional.ts'

/** A call to a host that the platform does not control, such as the receiver of a webhook or the server of a tenant. */
type PeerCall = {
  readonly url: string
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Ends the call at its deadline. */
  readonly signal: AbortSignal
  /** The maximum number of bytes that are read from the socket, of any kind: TLS records, headers, framing and content. */
  readonly maxBytes: number
  /** Replaces the look-up of the host name. */
  readonly lookup?: LookupFunction
  /** The authorities that a certificate is checked against; by default those of Node. */
  readonly secureContext?: SecureContext
}

/** The answer of a peer. */
type PeerAnswer = {
  readonly statusCode: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  /** False if the answer ended early: at the deadline, at `maxBytes`, or with its connection. */
  readonly isComplete: boolean
}

/** The maximum size of a read. It bounds the work on bytes that arrive together with an informational response. */
const maxReadBytes = 4_096

/**
 * Sends a request on a connection of its own. Whatever the peer does, the call settles and its socket is destroyed at the end of
 * the answer, when the connection closes, after `maxBytes`, when the signal aborts, and at the first informational response.
 * Follows no redirect. Rejects unless the headers of an answer have arrived.
 */
export const callPeer = (call: PeerCall): Promise<PeerAnswer> =>
  new Promise((resolve, reject) => {
    const { signal, maxBytes, method = 'GET', headers = {}, body } = call
    signal.throwIfAborted()
    const { protocol, hostname, port, pathname, search } = new URL(call.url)
    const isSecure = protocol === 'https:'
    const defaultPort = isSecure ? 443 : 80
    const host = hostname.replace(/^\[(.*)\]$/, '$1')
    const address = { host, port: Number(port) || defaultPort, ...withDefined({ lookup: call.lookup }) }
    const socket = openSocket(maxBytes, () => settle(new Error(`The peer sent ${maxBytes} bytes or more.`)))
    const request = (isSecure ? requestHttps : requestHttp)({
      host,
      port: address.port,
      defaultPort,
      method,
      path: `${pathname}${search}`,
      headers: body === undefined ? headers : { ...headers, 'content-length': Buffer.byteLength(body) },
      createConnection: () => {
        const stream = isSecure ? secure(socket, host, call.secureContext) : socket
        socket.connect(address)
        return stream
      },
    })
    const content = createContent()
    let response: IncomingMessage | undefined
    let isSettled = false
    const settle = (error = new Error('The peer closed the connection.')): void => {
      if (isSettled) return
      isSettled = true
      signal.removeEventListener('abort', abort)
      if (response === undefined) reject(error)
      else resolve(toAnswer(response, content.bytes()))
      request.destroy()
      socket.destroy()
    }
    const abort = (): void => settle(new Error('The peer did not answer in time.'))
    const refuse = ({ statusCode }: { statusCode?: number | undefined }): void =>
      settle(new Error(`The peer sent an informational response with the status ${statusCode}.`))
    signal.addEventListener('abort', abort)
    socket.on('error', settle)
    request.on('error', settle)
    // Node reports nothing else after a 101.
    request.on('close', settle)
    request.on('information', refuse)
    request.on('response', (incoming) => {
      if ((incoming.statusCode ?? 0) < 200) return refuse(incoming)
      response = incoming
      incoming.on('data', content.append)
      incoming.on('error', settle)
      incoming.on('end', settle)
    })
    request.end(body)
  })

/** Creates a socket that reads at most `maxBytes`, and then calls `onLimit`. */
const openSocket = (maxBytes: number, onLimit: () => void): Socket => {
  let left = maxBytes
  const read = Buffer.allocUnsafe(maxReadBytes)
  const socket: Socket = new Socket({
    noDelay: true,
    onread: {
      buffer: () => (left > maxReadBytes ? read : read.subarray(0, Math.max(1, left))),
      callback: (bytes) => {
        left -= bytes
        const wantsMore = socket.push(Buffer.from(read.subarray(0, bytes)))
        if (left > 0) return wantsMore
        onLimit()
        return false
      },
    },
  })
  return socket
}

/** Adds TLS to a socket that has not begun to connect. Node then passes its bytes through JavaScript, where each is counted. */
const secure = (socket: Socket, host: string, secureContext: SecureContext | undefined): Socket =>
  connectTls({
    socket,
    host,
    servername: isIP(host) === 0 ? host : '',
    ALPNProtocols: ['http/1.1'],
    ...withDefined({ secureContext }),
  })

/** Collects bytes in one buffer. A peer that sends them one at a time would fill the memory with small buffers. */
const createContent = () => {
  let buffer = Buffer.alloc(0)
  let length = 0
  return {
    append: (chunk: Buffer): void => {
      const needed = length + chunk.length
      if (needed > buffer.length) buffer = Buffer.concat([buffer], Math.max(needed, 2 * buffer.length))
      chunk.copy(buffer, length)
      length = needed
    },
    bytes: (): Buffer => buffer.subarray(0, length),
  }
}

const toAnswer = ({ statusCode = 0, headers, complete }: IncomingMessage, body: Buffer): PeerAnswer => ({
  statusCode,
  headers,
  body,
  isComplete: complete,
})

/** The deadline of a call has passed. */
export class DeadlineError extends Error {
  override name = 'DeadlineError'
}

/**
 * Calls with a signal that aborts after `timeoutMs`, and with the caller's. Rejects when either aborts, even if the
 * call does not end: with a `DeadlineError`, whose message begins with `fault`, or the reason of the caller's signal.
 */
export const within = <T>(
  {
    clock,
    timeoutMs,
    signal,
    fault = 'There was no answer',
  }: { clock: Clock; timeoutMs: number; signal?: AbortSignal | undefined; fault?: string },
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> =>
  new Promise((resolve, reject) => {
    const limit = new AbortController()
    const clear = (): void => {
      timer.cancel()
      signal?.removeEventListener('abort', abort)
    }
    const end = (reason: unknown): void => {
      clear()
      limit.abort(reason)
      reject(reason)
    }
    const abort = (): void => end(signal?.reason)
    const timer = clock.setTimeout(() => end(new DeadlineError(`${fault} for ${timeoutMs} ms.`)), timeoutMs)
    signal?.addEventListener('abort', abort)
    if (signal?.aborted === true) abort()
    call(limit.signal).finally(clear).then(resolve, reject)
  })
