import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { eventually } from '#test/support/wait.ts'
import { deferSilentConnections } from './accept.ts'

const started: (() => void)[] = []
afterEach(() => {
  for (const stop of started.splice(0)) stop()
})

/** A server that answers with the path that was asked for, and how to connect to it. */
const aServer = async () => {
  const clock = createFakeClock(0)
  const server = createServer((request, response) => response.end(`asked ${request.url};`))
  const endSilent = deferSilentConnections(server, {
    ...{ silentMs: 15_000, clock, isTrusted: () => false },
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
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    const seen = { text: '', closed: false }
    socket.on('error', () => undefined)
    socket.on('data', (data) => {
      seen.text += data.toString()
    })
    socket.on('close', () => {
      seen.closed = true
    })
    started.push(() => void socket.destroy())
    await eventually('one more connection', async () => (await accepted()) > before)
    return { socket, seen }
  }
  return { clock, server, endSilent, client, accepted }
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: here\r\n\r\n`

test('a client that speaks is answered, however its requests are cut, and again on the same connection', async () => {
  const { client } = await aServer()
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

test('a client that says nothing is ended after the time, and nobody who spoke', async () => {
  const { client, clock } = await aServer()
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

test('who goes without a word, or by a reset, leaves nothing behind', async () => {
  const { client, accepted } = await aServer()
  const [gone, reset] = [await client(), await client()]
  gone.socket.end()
  reset.socket.resetAndDestroy()
  await eventually('no connection', async () => (await accepted()) === 0)
})

test('a server that closes need not wait for the silent', async () => {
  const { client, endSilent, server } = await aServer()
  const { seen } = await client()
  const closed = new Promise((resolve) => server.close(resolve))
  endSilent()
  await closed
  await eventually('the end of the silent', async () => seen.closed)
})
