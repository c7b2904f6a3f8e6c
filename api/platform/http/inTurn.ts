import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Handles a request. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void

type Exchange = readonly [IncomingMessage, ServerResponse]

/** The maximum number of requests of a connection that wait for its responses. */
const maxWaiting = 8

/**
 * Handles the requests of each connection one at a time: a request starts when the response before it has been sent. Node.js
 * itself starts the handlers of all pipelined requests at once and keeps their responses in memory. A connection with more than
 * eight waiting requests is closed. A request with several Host headers is a 400, as is one without, which Node.js refuses.
 */
export const handleInTurn = (server: Server, handle: RequestHandler): void => {
  /** The waiting requests of each connection that has an unsent response. */
  const waiting = new WeakMap<Socket, Exchange[]>()
  const start = (socket: Socket, [request, response]: Exchange): void => {
    response.once('close', () => continueWith(socket))
    useOriginForm(request)
    if (hasSeveralHosts(request)) response.writeHead(400, { connection: 'close' }).end()
    else handle(request, response)
  }
  const continueWith = (socket: Socket): void => {
    // After `Connection: close` the connection is open until the client closes its half, but serves no further request.
    const next = socket.writable ? waiting.get(socket)?.shift() : undefined
    if (next === undefined) waiting.delete(socket)
    else start(socket, next)
  }
  server.on('request', (request, response) => {
    const { socket } = request
    // The parser reports the remaining requests of its input even after the connection was closed.
    if (socket.destroyed) return
    const queue = waiting.get(socket)
    if (queue === undefined) {
      waiting.set(socket, [])
      start(socket, [request, response])
    } else if (queue.length < maxWaiting) queue.push([request, response])
    else socket.destroy()
  })
}

/** Replaces the absolute form of a request's target (RFC 9112, section 3.2.2), which names the API as its Host does. */
export const useOriginForm = (request: IncomingMessage): void => {
  const { url = '' } = request
  if (/^https?:\/\//i.test(url)) request.url = url.replace(/^[^/]*\/\/[^/?#]*\/?/, '/')
}

/** Reports whether a request has several Host headers (RFC 9112, section 3.2). Node.js keeps the first. */
export const hasSeveralHosts = ({ rawHeaders }: IncomingMessage): boolean =>
  rawHeaders.filter((name, at) => at % 2 === 0 && name.length === 4 && name.toLowerCase() === 'host').length > 1
