import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { eventually } from '#test/support/wait.ts'
import { createSlowReaderCheck } from './slowReaders.ts'

const mebibyte = 1024 * 1024

/** Starts a server that answers with 64 MiB, more than the buffers of the system take. Returns a client that does not read. */
const startServer = async () => {
  const clock = createFakeClock()
  const { watch, stop } = createSlowReaderCheck(clock)
  let writes = 0
  const server = createServer((_, response) => {
    watch(response)
    const write = (): void => {
      while (writes < 64) {
        writes += 1
        if (!response.write(Buffer.alloc(mebibyte))) return
      }
    }
    response.on('drain', write)
    write()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  let bytes = 0
  socket.write('GET / HTTP/1.1\r\nhost: here\r\n\r\n')
  socket.on('error', () => undefined)
  const read = (): void => {
    socket.on('data', (data) => {
      bytes += data.length
    })
  }
  onTestFinished(() => {
    stop()
    socket.destroy()
    server.closeAllConnections()
    server.close()
  })
  await eventually('the response begins', async () => writes > 0)
  const connections = (): Promise<number> => new Promise((resolve) => server.getConnections((_, n) => resolve(n)))
  const pass = (seconds: number): void => {
    for (let second = 0; second < seconds; second += 1) clock.advance(1_000)
  }
  return { connections, pass, read, isRead: () => bytes > 64 * mebibyte }
}

test('closes the connection of a client that does not read a response', async () => {
  const { pass, connections } = await startServer()
  pass(30)
  expect(await connections()).toBe(1)
  pass(5)
  await eventually('the connection is closed', async () => (await connections()) === 0)
})

test('keeps the connection of a client that reads, and one whose response has been sent so far', async () => {
  const { pass, connections, read, isRead } = await startServer()
  pass(29)
  read()
  await eventually('everything was read', async () => isRead())
  pass(300)
  expect(await connections()).toBe(1)
})
