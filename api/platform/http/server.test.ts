import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { openServer } from './server.ts'

const serve = async (limits: { headersMs: number; keepAliveMs: number }): Promise<() => Socket> => {
  const server = openServer({ tls: undefined, requestMs: 60_000, checkMs: 10, isUpgrade: () => false, ...limits })
  server.on('request', (_, response) => response.end('ok'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return () => connect((server.address() as AddressInfo).port, '127.0.0.1')
}

const get = async (socket: Socket): Promise<string> => {
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  const [data] = (await once(socket, 'data')) as [Buffer]
  return data.toString()
}

/** Sends a request and returns everything that arrives until the connection ends. */
const exchange = async (socket: Socket, request: string): Promise<string> => {
  socket.write(request)
  return text(socket)
}

test('a kept connection may be idle for longer than the time limit for headers', async () => {
  const open = await serve({ headersMs: 50, keepAliveMs: 65_000 })
  const kept = open()
  expect(await get(kept)).toMatch(/^Keep-Alive: timeout=65\r$/m)
  // Ended by the limit for headers, so that the kept connection was idle for longer.
  const slow = open()
  slow.resume().write('GET / HTTP/1.1\r\nHost:')
  await once(slow, 'close')
  expect(await get(kept)).toMatch(/^HTTP\/1\.1 200 /)
})

test('a connection that stays idle is closed', async () => {
  const open = await serve({ headersMs: 15_000, keepAliveMs: 50 })
  const kept = open()
  await get(kept)
  kept.resume()
  await once(kept, 'close')
})

/** Every request of `exchange` has these. */
const fields = 'Host:\r\nConnection: close\r\n'
/** Node counts names and values, and no separators. */
const fieldBytes = 'HostConnectionclose'.length

test.each([
  ['URL', (bytes: number) => `GET /${'a'.repeat(bytes - 1)} HTTP/1.1\r\n${fields}\r\n`],
  ['header', (bytes: number) => `GET / HTTP/1.1\r\n${fields}a: ${'a'.repeat(bytes - 2)}\r\n\r\n`],
])('a request whose %s fills 16 KiB gets a 431 without a body, and its connection ends', async (_, request) => {
  const open = await serve({ headersMs: 15_000, keepAliveMs: 65_000 })
  const maxBytes = 16 * 1024 - 1 - fieldBytes
  expect(await exchange(open(), request(maxBytes))).toMatch(/^HTTP\/1\.1 200 /)
  expect(await exchange(open(), request(maxBytes + 1))).toMatch(/^HTTP\/1\.1 431 .*\r\nConnection: close\r\n\r\n$/)
})
