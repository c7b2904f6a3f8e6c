import { connect, type Socket } from 'node:net'

/** A minimal WebSocket client, so that the load measures the server. */
export type LoadSocket = { readonly at: number; readonly socket: Socket; send(text: string): void; end(): void }

type Options = {
  readonly url: string
  readonly path: string
  readonly headers: Record<string, string>
  readonly count: number
  /** Called for each text message. The bytes are valid only during the call. */
  readonly heard: (socket: LoadSocket, text: Buffer) => void
  /** Called when a socket is open. */
  readonly opened?: (socket: LoadSocket) => void
}

/** Each loopback address has 28,000 free ports and the API's limit of connections per address. */
const socketsPerAddress = 2_500
const connectTimeoutMs = 60_000

/** Opens `count` sockets at once. Rejects if one is refused or not open after a minute. */
export const openSockets = async (options: Options): Promise<LoadSocket[]> =>
  Promise.all(Array.from({ length: options.count }, (_, at) => open(at, options)))

const open = (at: number, { url, path, headers, heard, opened }: Options): Promise<LoadSocket> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const localAddress = `127.0.0.${2 + Math.floor(at / socketsPerAddress)}`
    const socket = connect({ host: hostname, port: Number(port), localAddress, noDelay: true })
    const timer = setTimeout(() => socket.destroy(new Error('no answer to an upgrade')), connectTimeoutMs)
    const self: LoadSocket = {
      at,
      socket,
      send: (text) => void socket.write(maskedFrame(0x81, Buffer.from(text))),
      end: () => void socket.destroy(),
    }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(
      `GET ${path} HTTP/1.1\r\nhost: ${hostname}:${port}\r\nconnection: upgrade\r\nupgrade: websocket\r\n` +
        `sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n${lines.join('')}\r\n`,
    )
    socket.on('error', reject)
    socket.once('close', () => clearTimeout(timer))
    let answer = Buffer.alloc(0)
    const handshake = (bytes: Buffer): void => {
      answer = Buffer.concat([answer, bytes])
      const end = answer.indexOf('\r\n\r\n')
      if (end < 0) return
      clearTimeout(timer)
      socket.off('data', handshake)
      const [status] = answer.toString('latin1').split('\r\n')
      if (status?.includes(' 101 ') !== true) {
        reject(new Error(`an upgrade was answered with ${status}`))
        return
      }
      const read = createReader((opcode, text) => {
        if (opcode === 1) heard(self, text)
        else if (opcode === 9) socket.write(maskedFrame(0x8a, text))
      })
      socket.on('data', read)
      read(answer.subarray(end + 4))
      opened?.(self)
      resolve(self)
    }
    socket.on('data', handshake)
  })

/** Builds a client frame, masked with zeros (RFC 6455, 5.2). The payload must be shorter than 126 bytes. */
const maskedFrame = (first: number, payload: Buffer): Buffer =>
  Buffer.concat([Buffer.from([first, 0x80 | payload.length, 0, 0, 0, 0]), payload])

/** Reads whole server frames from chunks of any size. */
const createReader = (take: (opcode: number, payload: Buffer) => void): ((bytes: Buffer) => void) => {
  let rest: Buffer | undefined
  return (bytes) => {
    const all = rest === undefined ? bytes : Buffer.concat([rest, bytes])
    let at = 0
    for (let end = endOf(all, at); end !== undefined && end.to <= all.length; end = endOf(all, at)) {
      take((all[at] ?? 0) & 0x0f, all.subarray(end.from, end.to))
      at = end.to
    }
    rest = at === all.length ? undefined : all.subarray(at)
  }
}

/** Returns the start and end of the payload of the frame at an offset, or undefined if its header is incomplete. */
const endOf = (all: Buffer, at: number): { from: number; to: number } | undefined => {
  const short = all[at + 1]
  if (short === undefined) return undefined
  const from = at + (short < 126 ? 2 : short === 126 ? 4 : 10)
  if (all.length < from) return undefined
  const length = short < 126 ? short : short === 126 ? all.readUInt16BE(at + 2) : Number(all.readBigUInt64BE(at + 2))
  return { from, to: from + length }
}
