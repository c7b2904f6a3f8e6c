import type { Duplex } from 'node:stream'
import { WebSocket } from 'ws'
import type { Connection, Peer } from './connection.ts'

/** What clients do. */
export type ClientEvents = {
  /** A text; undefined is a binary message, which no client has a reason to send. */
  message(connection: Connection, text: string | undefined): void
  ping(connection: Connection, data: Buffer): void
  pong(connection: Connection): void
  closed(connection: Connection): void
}

/**
 * The wire of an open WebSocket. Updates are written to its socket as whole frames that were made once for all
 * receivers; nothing is compressed, so ws too writes each of its own frames in one go, and they do not mix. It is the
 * WebSocket itself and has no function of its own, since ten thousands of them are held.
 */
export class ClientSocket extends WebSocket implements Peer {
  /** Undefined until it serves a connection, which is before ws tells of anything. */
  #wire: Duplex | undefined
  #connection: Connection | undefined
  #events: ClientEvents | undefined

  /** Tells of what the client of a connection does. */
  serve(socket: Duplex, connection: Connection, events: ClientEvents): void {
    this.#wire = socket
    this.#connection = connection
    this.#events = events
    this.on('message', this.#onMessage)
    this.on('ping', this.#onPing)
    this.on('pong', this.#onPong)
    this.on('close', this.#onClose)
    // A protocol error: ws closes the connection with the right code by itself.
    this.on('error', ignore)
  }

  buffered(): number {
    return this.#wire?.writableLength ?? 0
  }

  write(bytes: Buffer): void {
    if (this.#wire?.writable) this.#wire.write(bytes)
  }

  onDrain(callback: () => void): void {
    this.#wire?.once('drain', callback)
  }

  #onMessage(data: WebSocket.RawData, isBinary: boolean): void {
    if (this.#connection) this.#events?.message(this.#connection, isBinary ? undefined : textOf(data))
  }

  #onPing(data: Buffer): void {
    if (this.#connection) this.#events?.ping(this.#connection, data)
  }

  #onPong(): void {
    if (this.#connection) this.#events?.pong(this.#connection)
  }

  #onClose(): void {
    if (this.#connection) this.#events?.closed(this.#connection)
  }
}

const ignore = (): void => undefined

/** Messages are Buffers unless ws is told otherwise. */
const textOf = (data: WebSocket.RawData): string => (Buffer.isBuffer(data) ? data.toString() : '')
