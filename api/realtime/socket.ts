import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import type { Peer } from './connection.ts'

/** What a client does. */
export type PeerEvents = {
  /** A text; undefined is a binary message, which no client has a reason to send. */
  message(text: string | undefined): void
  ping(data: Buffer): void
  pong(): void
  closed(): void
}

/**
 * The wire of an open WebSocket. Updates are written to its socket as whole frames that were made once for all
 * receivers; nothing is compressed, so ws too writes each of its own frames in one go, and they do not mix.
 */
export const createPeer = (ws: WebSocket, socket: Duplex, events: PeerEvents): Peer => {
  ws.on('message', (data, isBinary) => events.message(isBinary ? undefined : textOf(data)))
  ws.on('ping', (data) => events.ping(data))
  ws.on('pong', () => events.pong())
  ws.on('close', () => events.closed())
  // A protocol error: ws closes the connection with the right code by itself.
  ws.on('error', () => undefined)
  return {
    buffered: () => socket.writableLength,
    cork: () => socket.cork(),
    write: (bytes) => void (socket.writable && socket.write(bytes)),
    uncork: () => socket.uncork(),
    onDrain: (callback) => void socket.once('drain', callback),
    ping: () => ws.ping(),
    pong: (data) => ws.pong(data),
    close: (code, reason) => ws.close(code, reason),
    terminate: () => ws.terminate(),
  }
}

/** Messages are Buffers unless ws is told otherwise. */
const textOf = (data: WebSocket.RawData): string => (Buffer.isBuffer(data) ? data.toString() : '')
