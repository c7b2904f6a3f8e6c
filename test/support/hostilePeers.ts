import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'

/** A peer answers a request on a raw connection. `tick` gives it its next turn. */
export type HostilePeer = (socket: Socket, tick: (turn: () => void) => void) => void

/** Writes the bytes again and again, as fast as they are taken. */
const flood = (socket: Socket, bytes: string): void => {
  const write = (): void => {
    while (!socket.destroyed && socket.write(bytes));
  }
  socket.on('drain', write)
  write()
}

const informational = `HTTP/1.1 103 Early Hints\r\n${'A: b\r\n'.repeat(50)}\r\n`
const answered = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n'

/** Peers that never give a valid answer. */
export const hostilePeers: Readonly<Record<string, HostilePeer>> = {
  'sends nothing': () => undefined,
  'sends half a line': (socket) => socket.write('HTTP/1.1 20'),
  'answers 101': (socket) =>
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
  'answers 101 without an upgrade': (socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n'),
  'answers 100 and then 200': (socket) =>
    socket.write(`HTTP/1.1 100 Continue\r\n\r\n${answered}Content-Length: 2\r\n\r\n{}`),
  'answers 103 and then 200': (socket) => socket.write(`${informational}${answered}Content-Length: 2\r\n\r\n{}`),
  'sends 103 without end': (socket) => flood(socket, informational.repeat(200)),
  'sends the shortest 103 without end': (socket) => flood(socket, 'HTTP/1.1 103 \r\n\r\n'.repeat(4_000)),
  'sends a header of 1 MB': (socket) => socket.write(`${answered}X: ${'x'.repeat(1_000_000)}\r\n\r\n{}`),
  'sends one header after the other': (socket) => {
    socket.write(answered)
    flood(socket, 'A: b\r\n'.repeat(10_000))
  },
  'sends no HTTP without end': (socket) => flood(socket, 'x'.repeat(65_536)),
  'closes the connection': (socket) => socket.end(),
}

/** Peers that begin a valid answer and do not end it. */
export const endlessPeers: Readonly<Record<string, HostilePeer>> = {
  'sends a chunk extension without end': (socket) => {
    socket.write(`${answered}Transfer-Encoding: chunked\r\n\r\n2;x=`)
    flood(socket, 'x'.repeat(65_536))
  },
  'sends trailers without end': (socket) => {
    socket.write(`${answered}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n`)
    flood(socket, 'A: b\r\n'.repeat(10_000))
  },
  'sends a body of one byte at a time': (socket, tick) => {
    socket.write(`${answered}Content-Length: 1000\r\n\r\n{`)
    tick(() => socket.write(' '))
  },
  'sends an endless body': (socket) => {
    socket.write(`${answered}\r\n`)
    flood(socket, ' '.repeat(65_536))
  },
  'sends an endless refusal': (socket) => {
    socket.write('HTTP/1.1 500 Internal Server Error\r\n\r\n')
    flood(socket, ' '.repeat(65_536))
  },
  'sends an endless body in chunks of a byte': (socket) => {
    socket.write(`${answered}Transfer-Encoding: chunked\r\n\r\n`)
    flood(socket, '1\r\n \r\n'.repeat(10_000))
  },
}

/** Returns peers that send the first bytes of a valid answer and then reset or close the connection, for each number of bytes. */
export const cutPeers = (body: string): Readonly<Record<string, HostilePeer>> => {
  const answer = Buffer.from(`${answered}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
  const cuts = Array.from({ length: answer.length + 1 }, (_, bytes) => bytes)
  return Object.fromEntries(
    cuts.flatMap((bytes): [string, HostilePeer][] => [
      [`resets after ${bytes} bytes`, (socket) => socket.write(answer.subarray(0, bytes), () => reset(socket))],
      [`closes after ${bytes} bytes`, (socket) => socket.end(answer.subarray(0, bytes))],
    ]),
  )
}

/** Resets a connection; one with TLS is closed without a close_notify. */
const reset = (socket: Socket): void => {
  if ('encrypted' in socket) socket.destroy()
  else socket.resetAndDestroy()
}

/** Starts a raw server, with TLS if there is a certificate. Connections end, and requests get another answer, when it becomes another peer. */
export const startHostilePeer = async (tls?: { readonly cert: string; readonly key: string }) => {
  let peer: HostilePeer = () => undefined
  let turns: (() => void)[] = []
  let requests = 0
  const open = new Set<Socket>()
  const accept = (socket: Socket): void => {
    socket.on('data', () => {
      requests += 1
      peer(socket, (turn) => turns.push(turn))
    })
  }
  const server = tls === undefined ? createServer(accept) : createTlsServer(tls, accept)
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
  })
  for (const each of ['connection', 'secureConnection'])
    server.on(each, (socket: Socket) => socket.on('error', () => undefined))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    become: (next: HostilePeer): void => {
      for (const socket of open) socket.destroy()
      peer = next
      turns = []
      requests = 0
    },
    /** Returns the number of requests since then. */
    requests: (): number => requests,
    /** Gives the slow peers their next turn. */
    tick: (): void => {
      for (const turn of turns) turn()
    },
    /** Resolves when no connection is open. */
    closed: async (): Promise<void> => {
      await Promise.all([...open].map((socket) => new Promise((resolve) => socket.once('close', resolve))))
    },
    close: (): void => {
      for (const socket of open) socket.destroy()
      server.close()
    },
  }
}
