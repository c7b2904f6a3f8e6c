import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { askServer } from './askServer.ts'

const listen = async (handler: RequestListener): Promise<string> => {
  const server = createServer(handler)
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/readyz`
}
const ask = async (handler: RequestListener, signal = new AbortController().signal) =>
  askServer(await listen(handler), signal)

test('returns the reported queue and ignores other fields', async () => {
  expect(await ask((_, response) => response.end('{"active":3,"queued":1,"more":true}'))).toEqual({
    active: 3,
    queued: 1,
  })
})

test.each<[string, RequestListener]>([
  ['an error', (_, response) => response.writeHead(503).end('{"active":1,"queued":1}')],
  ['no JSON', (_, response) => response.end('ok')],
  ['negative numbers', (_, response) => response.end('{"active":-1,"queued":-1}')],
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
    response.writeHead(302, { location: inner }).end()
  })
  expect([answer, reached]).toEqual([undefined, ['outer']])
})

test('returns undefined at once when the signal aborts', async () => {
  const stop = new AbortController()
  const asked = ask(() => stop.abort(), stop.signal)
  expect(await asked).toBeUndefined()
})

test.each(['http://127.0.0.1:1/readyz', 'http://[no address]:8080/readyz', ''])(
  'returns undefined for an unreachable or invalid address: %s',
  async (url) => {
    expect(await askServer(url, new AbortController().signal)).toBeUndefined()
  },
)
