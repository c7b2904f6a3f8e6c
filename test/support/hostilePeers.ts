import { createSocket } from 'node:dgram'
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

/** Returns an answer over HTTP with that body. */
export const httpAnswer = (body: string): Buffer =>
  Buffer.from(`${answered}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)

/** Returns peers that send the first bytes of a valid answer and then reset or close the connection, for each number of bytes. */
export const cutPeers = (answer: Buffer): Readonly<Record<string, HostilePeer>> => {
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

/** A peer answers a question over UDP. `other` sends from another port, and `answer` is what an honest peer would send. */
export type HostileDatagrams = (
  send: (bytes: Uint8Array) => void,
  answer: Buffer,
  other: (bytes: Uint8Array) => void,
) => void

const repeat = (times: number, act: () => void): void => {
  for (let time = 0; time < times; time += 1) act()
}

/** Peers that never give a valid answer over UDP. */
export const hostileDatagrams: Readonly<Record<string, HostileDatagrams>> = {
  'sends nothing': () => undefined,
  'sends an empty datagram': (send) => send(Buffer.alloc(0)),
  'sends empty datagrams without end': (send) => repeat(500, () => send(Buffer.alloc(0))),
  'sends datagrams of a byte without end': (send) => repeat(500, () => send(Buffer.from('x'))),
  'sends the largest datagrams': (send) => repeat(10, () => send(Buffer.alloc(65_507, 0xff))),
  'sends zeros': (send) => send(Buffer.alloc(1_400)),
  'sends HTTP': (send) => send(httpAnswer('{"active":1,"queued":2}')),
  'answers from another port': (_, answer, other) => other(answer),
}

/** Returns peers that send the first bytes of a valid answer over UDP, for each number of bytes. */
export const cutDatagrams = (length: number): Readonly<Record<string, HostileDatagrams>> =>
  Object.fromEntries(
    Array.from({ length: length + 1 }, (_, bytes) => [
      `sends ${bytes} bytes`,
      (send, answer) => send(answer.subarray(0, bytes)),
    ]),
  )

/** Returns peers that change one byte of a valid answer over UDP. */
export const changedDatagrams = (length: number): Readonly<Record<string, HostileDatagrams>> =>
  Object.fromEntries(
    Array.from({ length }, (_, at) => [
      `changes byte ${at}`,
      (send, answer) => send(answer.map((byte, index) => (index === at ? byte ^ 0xff : byte))),
    ]),
  )

/** Starts a server of datagrams. */
export const startHostileDatagrams = async () => {
  let peer: HostileDatagrams = () => undefined
  let answerOf: (question: Buffer) => Buffer = (question) => question
  let isSent = Promise.withResolvers<void>()
  const [socket, other] = [createSocket('udp4'), createSocket('udp4')]
  const bound = [socket, other].map((each) => once(each, 'listening'))
  for (const each of [socket, other]) each.bind(0, '127.0.0.1')
  await Promise.all(bound)
  socket.on('message', (question, { port, address }) => {
    const sending: Promise<void>[] = []
    const from = (each: typeof socket) => (bytes: Uint8Array) =>
      void sending.push(new Promise((sent) => each.send(bytes, port, address, () => sent())))
    peer(from(socket), answerOf(question), from(other))
    void Promise.all(sending).then(() => isSent.resolve())
  })
  return {
    port: socket.address().port,
    become: (next: HostileDatagrams, answer: (question: Buffer) => Buffer): void => {
      peer = next
      answerOf = answer
      isSent = Promise.withResolvers()
    },
    /** Resolves when the answer to a question has been sent. */
    answered: (): Promise<void> => isSent.promise,
    close: (): void => {
      socket.close()
      other.close()
    },
  }
}
