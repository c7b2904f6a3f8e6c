import type { Duplex } from 'node:stream'
import { WebSocket } from 'ws'
import type { Connection, Peer } from './connection.ts'
import type { Ending } from './ending.ts'

/** Callbacks for the events of client sockets. */
export type ClientEvents = {
  /** Some bytes were read, after the events that they cause. */
  read(connection: Connection): void
  /** A text message, or undefined for a binary message. Binary messages are not part of the protocol. */
  message(connection: Connection, text: string | undefined): void
  ping(connection: Connection, data: Buffer): void
  pong(connection: Connection): void
  /** The client broke a rule of the protocol. The connection must be closed. */
  failed(connection: Connection, why: Ending): void
  closed(connection: Connection): void
}

/** The endings for the codes with which ws closes a connection itself. */
const failures: ReadonlyMap<number | undefined, Ending> = new Map([
  [1002, 'protocol'],
  [1007, 'notText'],
  [1009, 'tooLarge'],
])

/** A stream with the limit of bytes from which Node stops reading for a paused reader. It has no option for one socket. */
type Reader = Duplex & { readonly _readableState?: { highWaterMark: number } }

/**
 * A WebSocket that can write prepared frames. An update is encoded once for all its receivers and written directly to
 * the underlying stream. Compression is off, so ws writes each of its own frames in one call and frames cannot interleave.
 * Handlers are methods rather than closures, because a replica holds tens of thousands of sockets.
 */
export class ClientSocket extends WebSocket implements Peer {
  /** Undefined until `serve` is called, which happens before ws emits events. */
  #stream: Duplex | undefined
  #connection: Connection | undefined
  #events: ClientEvents | undefined

  /** Starts reporting the events of this socket for the connection. */
  serve(socket: Reader, connection: Connection, events: ClientEvents): void {
    this.#stream = socket
    // While it is paused, it holds one read, at most 64 KiB. Small reads would each take a buffer of their own.
    if (socket._readableState !== undefined) socket._readableState.highWaterMark = 1
    socket.on('data', this.#onRead)
    this.#connection = connection
    this.#events = events
    this.on('message', this.#onMessage)
    this.on('ping', this.#onPing)
    this.on('pong', this.#onPong)
    this.on('close', this.#onClose)
    // On a protocol error, ws calls `close` before this event.
    this.on('error', ignore)
  }

  buffered(): number {
    return this.#stream?.writableLength ?? 0
  }

  write(bytes: Buffer): void {
    if (this.#stream?.writable) this.#stream.write(bytes)
  }

  /** Closes the connection. ws calls it too, with a code alone, if it cannot read a message. The client gets the reason first. */
  override close(code?: number, reason?: string | Buffer): void {
    const failure = reason === undefined ? failures.get(code) : undefined
    if (failure !== undefined && this.#connection && this.#events) this.#events.failed(this.#connection, failure)
    else super.close(code, reason)
  }

  onDrain(callback: () => void): void {
    this.#stream?.once('drain', callback)
  }

  readonly #onRead = (): void => {
    if (this.#connection) this.#events?.read(this.#connection)
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

/** Messages are Buffers with the default binaryType of ws. */
const textOf = (data: WebSocket.RawData): string => (Buffer.isBuffer(data) ? data.toString() : '')
