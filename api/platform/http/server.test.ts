import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
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
