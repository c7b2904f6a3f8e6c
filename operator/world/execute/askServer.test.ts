import { createSocket } from 'node:dgram'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { queryProtocols } from '#shared/enumerations.ts'
import { askServer } from './askServer.ts'

const listen = async (handler: RequestListener): Promise<number> => {
  const server = createServer(handler)
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}
const ask = async (handler: RequestListener, signal = new AbortController().signal) =>
  askServer({ protocol: 'Http', host: '127.0.0.1', port: await listen(handler) }, signal)

test('returns the report of GET /readyz', async () => {
  const answer = await ask(({ method, url }, response) =>
    response.end(method === 'GET' && url === '/readyz' ? '{"active":3,"queued":1}' : ''),
  )
  expect(answer).toEqual({ kind: 'report', report: { players: 3, queued: 1 } })
})

test.each<[string, RequestListener, string]>([
  ['no JSON', (_, response) => response.end('ok'), 'is not an object in JSON'],
  ['an error', (_, response) => response.writeHead(503).end('{"active":1,"queued":1}'), 'has the status 503, not 200'],
  ['another protocol', ({ socket }) => socket.end('SSH-2.0-OpenSSH\r\n'), 'is not HTTP'],
])('says that an answer is not one of the protocol: %s', async (_, handler, fault) => {
  expect(await ask(handler)).toEqual({ kind: 'fault', fault })
})

test.each<[string, RequestListener]>([
  ['more than an answer can be', (_, response) => response.end(`{"active":1,"queued":1${' '.repeat(9_000)}}`)],
  ['half an answer', (_, response) => void response.write('{"active":1,', () => response.destroy())],
  ['nothing', (request) => request.socket.destroy()],
])('returns undefined for %s', async (_, handler) => {
  expect(await ask(handler)).toBeUndefined()
})

test('stops reading an endless response at the limit', async () => {
  const endless: RequestListener = (_, response) => {
    const more = (error?: Error | null): void => void (error || response.write('x'.repeat(1_000), more))
    more()
  }
  expect(await ask(endless)).toBeUndefined()
})

test('does not follow a redirect, so that a server cannot choose what the operator requests', async () => {
  const reached: string[] = []
  const inner = await listen((_, response) => {
    reached.push('inner')
    response.end('{"active":9,"queued":9}')
  })
  const answer = await ask((_, response) => {
    reached.push('outer')
    response.writeHead(302, { location: `http://127.0.0.1:${inner}/readyz` }).end()
  })
  expect([answer, reached]).toEqual([{ kind: 'fault', fault: 'has the status 302, not 200' }, ['outer']])
})

test('returns undefined at once when the signal aborts', async () => {
  const stop = new AbortController()
  const asked = ask(() => stop.abort(), stop.signal)
  expect(await asked).toBeUndefined()
})

test.each(queryProtocols)('looks up no name, with %s', async (protocol) => {
  const requests: string[] = []
  const port = await listen(() => requests.push('TCP'))
  const socket = createSocket('udp4', () => requests.push('UDP'))
  await new Promise<void>((bound) => socket.bind(port, '127.0.0.1', bound))
  onTestFinished(() => void socket.close())
  const { signal } = new AbortController()
  for (const host of ['localhost', '127.1', 'no address', '']) {
    expect(await askServer({ protocol, host, port }, signal)).toBeUndefined()
  }
  expect(requests).toEqual([])
})

test.each(queryProtocols)('returns undefined at once for a port that is closed, with %s', async (protocol) => {
  for (const host of ['127.0.0.1', '::1']) {
    expect(await askServer({ protocol, host, port: 1 }, new AbortController().signal)).toBeUndefined()
  }
})
