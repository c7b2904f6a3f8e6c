import { dial } from './tcpClient.ts'

/** A client that has sent requests, and reads only the head of the first response. */
export type IdleReader = {
  /** The beginning of the first response; empty until it arrives. */
  readonly head: () => string
  readonly leave: () => void
}

/** Sends `count` requests for a path at once, from a loopback address, and stops reading after the first bytes. */
export const openIdleReader = (
  url: string,
  { path, headers = {}, count = 1, from = '127.0.0.1' }: IdleRequest,
): IdleReader => {
  const { socket, seen } = dial({ port: Number(new URL(url).port), host: '127.0.0.1', localAddress: from })
  socket.once('data', () => socket.pause())
  const lines = Object.entries({ host: 'x', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`.repeat(count))
  return { head: () => seen.text.slice(0, 2_048), leave: () => void socket.destroy() }
}

type IdleRequest = {
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly count?: number
  readonly from?: string
}
