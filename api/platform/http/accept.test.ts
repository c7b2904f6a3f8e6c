import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { dial } from '#test/support/tcpClient.ts'
import { eventually } from '#test/support/wait.ts'
import { deferSilentConnections } from './accept.ts'

const started: (() => void)[] = []
afterEach(() => {
  for (const stop of started.splice(0)) stop()
})

/** Starts a server that answers with the requested path. Returns it with a function that connects to it. */
const startServer = async () => {
  const clock = createFakeClock(0)
  const server = createServer((request, response) => response.end(`asked ${request.url};`))
  const endSilent = deferSilentConnections(server, {
    silentMs: 15_000,
    clock,
    isTrusted: () => false,
    limits: { connections: 100, connectionsPerAddress: 100 },
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  started.push(() => {
    endSilent()
    server.closeAllConnections()
    server.close()
  })
  const accepted = (): Promise<number> => new Promise((resolve) => server.getConnections((_, count) => resolve(count)))
  const client = async () => {
    const before = await accepted()
    const { socket, seen } = dial({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' })
    started.push(() => void socket.destroy())
    await eventually('one more connection', async () => (await accepted()) > before)
    return { socket, seen }
  }
  return { clock, server, endSilent, client, accepted }
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: here\r\n\r\n`

test('answers every request of a connection, however its bytes are split', async () => {
  const { client } = await startServer()
  const { socket, seen } = await client()
  socket.setNoDelay(true)
  socket.write('G')
  socket.write(get('/first').slice(1) + get('/second').slice(0, 9))
  await eventually('asked /first;', async () => seen.text.includes('asked /first;'))
  socket.write(get('/second').slice(9))
  await eventually('asked /second;', async () => seen.text.includes('asked /second;'))
  socket.write(get('/third'))
  await eventually('asked /third;', async () => seen.text.includes('asked /third;'))
})

test('ends only connections that send nothing within the time limit', async () => {
  const { client, clock } = await startServer()
  const [silent, speaker] = [await client(), await client()]
  speaker.socket.write(get('/'))
  await eventually('asked /;', async () => speaker.seen.text.includes('asked /;'))
  await clock.advance(10_000)
  const late = await client()
  await clock.advance(5_000)
  await eventually('the end of the silent', async () => silent.seen.closed)
  expect([speaker.seen.closed, late.seen.closed]).toEqual([false, false])
  await clock.advance(10_000)
  await eventually('the end of the silent', async () => late.seen.closed)
  expect(speaker.seen.closed).toBe(false)
})

test('releases connections that close or reset without a request', async () => {
  const { client, accepted } = await startServer()
  const [gone, reset] = [await client(), await client()]
  gone.socket.end()
  reset.socket.resetAndDestroy()
  await eventually('no connection', async () => (await accepted()) === 0)
})

test('closes the server without waiting for silent connections', async () => {
  const { client, endSilent, server } = await startServer()
  const { seen } = await client()
  const closed = new Promise((resolve) => server.close(resolve))
  endSilent()
  await closed
  await eventually('the end of the silent', async () => seen.closed)
})
