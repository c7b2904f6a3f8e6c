import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { dial } from '#test/support/tcpClient.ts'
import { eventually } from '#test/support/wait.ts'
import { handleInTurn } from './inTurn.ts'

/** Starts a server whose responses the test sends. Returns a connection to it. */
const startServer = async () => {
  const server = createServer()
  const handled: { path: string; response: ServerResponse }[] = []
  handleInTurn(server, ({ url = '' }, response) => handled.push({ path: url, response }))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { socket, seen } = dial({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' })
  onTestFinished(() => {
    socket.destroy()
    server.closeAllConnections()
    server.close()
  })
  const paths = () => handled.map(({ path }) => path)
  const send = (at: number): void => void handled[at]?.response.end(`sent ${at};`)
  return { socket, seen, handled, paths, send }
}

const requests = (...names: (number | string)[]): string =>
  names.map((name) => `GET /${name} HTTP/1.1\r\nhost: here\r\n\r\n`).join('')

test('starts a request when the response before it has been sent, in the order of the requests', async () => {
  const { socket, seen, paths, send } = await startServer()
  socket.write(requests(1, 2, 3))
  for (const at of [0, 1, 2]) {
    await eventually('the next request starts', async () => paths().length === at + 1)
    expect(seen.text).not.toContain(`sent ${at};`)
    send(at)
    await eventually('the response', async () => seen.text.includes(`sent ${at};`))
  }
  expect(paths()).toEqual(['/1', '/2', '/3'])
  socket.write(requests(4))
  await eventually('a later request starts', async () => paths().length === 4)
})

test('closes a connection with more than eight waiting requests, and starts none of them', async () => {
  const { socket, seen, paths, send } = await startServer()
  socket.write(requests(...Array.from({ length: 9 }, (_, at) => at)))
  await eventually('the first request starts', async () => paths().length === 1)
  send(0)
  await eventually('the second request starts', async () => paths().length === 2)
  expect(seen.closed).toBe(false)
  socket.write(requests(...Array.from({ length: 900 }, (_, at) => `more-${at}`)))
  await eventually('the connection is closed', async () => seen.closed)
  send(1)
  expect(paths()).toEqual(['/0', '/1'])
})

test('drops the waiting requests after a response that ends the connection', async () => {
  const { socket, seen, handled, paths, send } = await startServer()
  socket.write(requests(1, 2, 3))
  await eventually('the first request starts', async () => paths().length === 1)
  handled[0]?.response.setHeader('connection', 'close')
  send(0)
  await eventually('the connection is closed', async () => seen.closed)
  expect(seen.text).toContain('sent 0;')
  expect(paths()).toEqual(['/1'])
})

test.each([
  ['http://api.example/a?b=c', '/a?b=c'],
  ['HTTPS://api.example:8443', '/'],
  ['http://api.example?b=//c', '/?b=//c'],
  ['/http://api.example/', '/http://api.example/'],
])('the target %s is handled as %s', async (target, path) => {
  const { socket, paths } = await startServer()
  socket.write(`GET ${target} HTTP/1.1\r\nHost: other\r\n\r\n`)
  await eventually('the request starts', async () => paths().length === 1)
  expect(paths()).toEqual([path])
})

test('a request with several Host headers is a 400 that ends the connection, and is not handled', async () => {
  const { socket, seen, paths } = await startServer()
  socket.write('GET /1 HTTP/1.1\r\nHost: a\r\nhOST: b\r\n\r\n')
  await eventually('the connection is closed', async () => seen.closed)
  expect(seen.text).toMatch(/^HTTP\/1\.1 400 /)
  expect(paths()).toEqual([])
})
