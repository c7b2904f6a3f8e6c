import { createSocket, type Socket as DatagramSocket, type RemoteInfo } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '#test/support/wait.ts'
import { type Exchange, maxAnswerBytes, type Next } from '../../query/exchange.ts'
import { askOverTcp } from './tcp.ts'
import { askOverUdp } from './udp.ts'

/** Asks `?`. The server may ask back with `!`, which gets another `?`; `=7` is the answer, `x` a fault, and `.` waits for more. */
const anExchange = () => {
  let received = 0
  let total = 0
  const next = (text: string): Next => {
    if (text.includes('=')) return { kind: 'report', report: { players: Number(text.split('=')[1]) } }
    if (text.includes('x')) return { kind: 'fault', fault: 'has an x' }
    return text.endsWith('!') ? { kind: 'send', packet: Buffer.from('?') } : { kind: 'more' }
  }
  const exchange: Exchange = {
    packet: Buffer.from('?'),
    receive: (bytes) => {
      received += 1
      total += bytes.length
      return next(Buffer.from(bytes).toString())
    },
  }
  return { ...exchange, received: () => received, bytes: () => total }
}
const answerOf = (players: number) => ({ kind: 'report', report: { players } })

type Host = '127.0.0.1' | '::1'
const typeOf = (host: Host) => (host === '::1' ? 'udp6' : 'udp4')

/** Starts a server of datagrams, and asks it. */
const askDatagrams = async (
  answer: (socket: DatagramSocket, from: RemoteInfo, question: string) => void,
  {
    host = '127.0.0.1',
    signal = new AbortController().signal,
    asked,
  }: { host?: Host; signal?: AbortSignal; asked?: Exchange } = {},
) => {
  const socket = createSocket(typeOf(host))
  const exchange = anExchange()
  const askers = new Set<number>()
  socket.on('message', (question, from) => {
    askers.add(from.port)
    answer(socket, from, question.toString())
  })
  socket.on('error', () => undefined)
  await new Promise<void>((bound) => socket.bind(0, host, bound))
  onTestFinished(() => void socket.close())
  const result = await askOverUdp({ host, port: socket.address().port }, asked ?? exchange, signal)
  await expectFree([...askers], host)
  return { result, exchange, askers: askers.size }
}

/** Fails unless the ports of the askers are free again. */
const expectFree = async (ports: readonly number[], host: Host): Promise<void> => {
  for (const port of ports) {
    const probe = createSocket(typeOf(host))
    probe.bind(port, host)
    await once(probe, 'listening')
    probe.close()
  }
}

test.each<Host>(['127.0.0.1', '::1'])(
  'sends what the exchange asks for over UDP, and returns its answer: %s',
  async (host) => {
    const questions: string[] = []
    const { result, askers } = await askDatagrams(
      (socket, { port, address }, question) => {
        questions.push(question)
        socket.send(questions.length < 3 ? '!' : '=7', port, address)
      },
      { host },
    )
    expect([result, questions, askers]).toEqual([answerOf(7), ['?', '?', '?'], 1])
  },
)

test('returns a fault of a datagram, and does not wait for others', async () => {
  const { result } = await askDatagrams((socket, { port, address }) => socket.send('x', port, address))
  expect(result).toEqual({ kind: 'fault', fault: 'has an x' })
})

test('ignores empty datagrams', async () => {
  const { result, exchange } = await askDatagrams((socket, { port, address }) => {
    socket.send('', port, address)
    socket.send('=2', port, address)
  })
  expect([result, exchange.received()]).toEqual([answerOf(2), 1])
})

test.each(['=5', 'x'])('hears only the address that it asks: not %s from another port', async (said) => {
  const other = createSocket('udp4')
  await new Promise<void>((bound) => other.bind(0, '127.0.0.1', bound))
  onTestFinished(() => void other.close())
  const { result, exchange } = await askDatagrams((socket, { port, address }) => {
    other.send(said, port, address, () => socket.send('=7', port, address))
  })
  expect([result, exchange.received()]).toEqual([answerOf(7), 1])
})

test.each(['.', '!', ''])('takes at most 64 datagrams of a flood: %s', async (said) => {
  const { result, exchange } = await askDatagrams((socket, { port, address }) => {
    for (let sent = 0; sent < 300; sent += 1) socket.send(said, port, address)
  })
  expect(result).toBeUndefined()
  expect(exchange.received()).toBe(said === '' ? 0 : 64)
})

test('takes at most 64 KiB of datagrams', async () => {
  const { result, exchange } = await askDatagrams((socket, { port, address }) => {
    for (let sent = 0; sent < 4; sent += 1) socket.send('.'.repeat(40_000), port, address)
  })
  expect([result, exchange.received()]).toEqual([undefined, 2])
})

test('returns undefined at once if the port is closed meanwhile', async () => {
  const socket = createSocket('udp4')
  await new Promise<void>((bound) => socket.bind(0, '127.0.0.1', bound))
  const { port } = socket.address()
  socket.close()
  await once(socket, 'close')
  expect(await askOverUdp({ host: '127.0.0.1', port }, anExchange(), new AbortController().signal)).toBeUndefined()
})

/** Starts a server of connections, and asks it. */
const askStream = async (
  answer: (socket: Socket, question: string) => void,
  { host = '127.0.0.1', signal = new AbortController().signal }: { host?: Host; signal?: AbortSignal } = {},
) => {
  const exchange = anExchange()
  const closed: Promise<unknown>[] = []
  const server = createServer((socket) => {
    closed.push(new Promise((resolve) => socket.on('close', resolve)))
    socket.on('error', () => undefined)
    socket.on('data', (question) => answer(socket, question.toString()))
  })
  server.listen(0, host)
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const result = await askOverTcp({ host, port: (server.address() as AddressInfo).port }, exchange, signal)
  await Promise.all(closed)
  return { result, exchange }
}

test.each<Host>(['127.0.0.1', '::1'])(
  'sends what the exchange asks for over TCP, and returns its answer: %s',
  async (host) => {
    const questions: string[] = []
    const { result } = await askStream(
      (socket, question) => {
        questions.push(question)
        socket.write(questions.length < 3 ? '!' : '=7')
      },
      { host },
    )
    expect([result, questions]).toEqual([answerOf(7), ['?', '?', '?']])
  },
)

test('returns the fault of a stream, and its answer even if the connection ends with it', async () => {
  expect((await askStream((socket) => void socket.end('x'))).result).toEqual({ kind: 'fault', fault: 'has an x' })
  expect((await askStream((socket) => void socket.end('=7'))).result).toEqual(answerOf(7))
})

test.each<[string, (socket: Socket) => void]>([
  ['closes at once', (socket) => void socket.end()],
  ['resets the connection', (socket) => void socket.resetAndDestroy()],
  ['closes in the middle', (socket) => void socket.end('.')],
])('returns undefined for a stream that %s', async (_, answer) => {
  expect((await askStream(answer)).result).toBeUndefined()
})

test('takes at most 64 KiB of a stream without end', async () => {
  const { result, exchange } = await askStream((socket) => {
    const write = (): void => {
      while (!socket.destroyed && socket.write('.'.repeat(65_536)));
    }
    socket.on('drain', write)
    write()
  })
  expect(result).toBeUndefined()
  expect(exchange.bytes()).toBe(maxAnswerBytes)
})

test('takes at most 1,024 pieces of a stream without end', async () => {
  const { result, exchange } = await askStream((socket) => {
    socket.setNoDelay(true)
    const write = (): void => {
      if (!socket.destroyed) socket.write('.', () => setImmediate(write))
    }
    write()
  })
  expect(result).toBeUndefined()
  expect(exchange.received()).toBe(1_024)
})

test.each([
  ['UDP', askDatagrams],
  ['TCP', askStream],
])('ends at the deadline if the server is silent, and asks nothing after it: %s', async (_, ask) => {
  const stop = new AbortController()
  expect((await ask(() => stop.abort(), { signal: stop.signal })).result).toBeUndefined()
  const asked: string[] = []
  expect((await ask(() => void asked.push('again'), { signal: stop.signal })).result).toBeUndefined()
  expect(asked).toEqual([])
})

test('returns undefined if the exchange fails', async () => {
  const broken: Exchange = {
    packet: Buffer.from('?'),
    receive: () => {
      throw new Error('not expected')
    },
  }
  const answer = askDatagrams((socket, { port, address }) => socket.send('=7', port, address), { asked: broken })
  expect((await answer).result).toBeUndefined()
})

test.each([
  ['UDP', askOverUdp],
  ['TCP', askOverTcp],
])('leaves no socket behind, whenever the signal aborts, and with a port that cannot be: %s', async (_, ask) => {
  const open = () => process.getActiveResourcesInfo().filter((name) => /UDP|TCP(Socket|Connect)/.test(name)).length
  for (const turns of [0, 1, 2, 3, 4]) {
    const stop = new AbortController()
    const asked = ask({ host: '127.0.0.1', port: 9 }, anExchange(), stop.signal)
    for (let turn = 0; turn < turns; turn += 1) await new Promise(process.nextTick)
    stop.abort()
    expect(await asked).toBeUndefined()
  }
  const { signal } = new AbortController()
  for (const port of [70_000, -1]) {
    expect(await ask({ host: '127.0.0.1', port }, anExchange(), signal)).toBeUndefined()
  }
  await eventually('no socket is open', async () => open() === 0)
})
