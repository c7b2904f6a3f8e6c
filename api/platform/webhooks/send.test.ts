import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openPki } from '#dev/kubernetes/pki.ts'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { eventually } from '#test/support/wait.ts'
import { createSend, type Resolve } from './send.ts'

const dir = mkdtempSync(join(tmpdir(), 'orrery-send-'))
const requests: { path: string; body: string }[] = []
let server: ReturnType<typeof createServer>
let authority: string
let answer: (response: ServerResponse, request: IncomingMessage) => void
beforeAll(async () => {
  const pki = await openPki(dir, Date.now())
  const { certFile, keyFile } = await pki.server('receiver', ['hooks.example.test'])
  authority = readFileSync(pki.caFile, 'utf8')
  server = createServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, (request, response) => {
    let body = ''
    request.on('data', (chunk) => (body += chunk))
    request.on('end', () => {
      requests.push({ path: request.url ?? '', body })
      answer(response, request)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
beforeEach(() => {
  requests.length = 0
  answer = (response) => response.writeHead(204).end()
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
  rmSync(dir, { recursive: true })
})

const clock = createFakeClock()
const send = ({
  path = '/',
  host = 'hooks.example.test',
  resolve = async () => ['127.0.0.1'],
  isAllowed = (address: string) => address === '127.0.0.1',
  authorities = [authority],
}: {
  path?: string
  host?: string
  resolve?: Resolve
  isAllowed?: (address: string) => boolean
  authorities?: string[]
} = {}) => {
  const { port } = server.address() as AddressInfo
  const sender = createSend({ resolve, isAllowed, authorities, timeoutMs: 10_000, clock })
  return sender({ url: `https://${host}:${port}${path}`, headers: { 'x-test': '1' }, body: 'Grüße' })
}

test('connects to the address that was resolved and checked, once for each attempt', async () => {
  const asked: string[] = []
  const resolve: Resolve = async (host) => {
    asked.push(host)
    // No other resolver knows the name, and a second look-up would give another address.
    return asked.length === 1 ? ['127.0.0.1'] : ['127.0.0.2']
  }
  expect(await send({ path: '/a?b=1', resolve })).toEqual({ statusCode: 204 })
  expect(asked).toEqual(['hooks.example.test'])
  expect(requests).toEqual([{ path: '/a?b=1', body: 'Grüße' }])
  expect(await send({ resolve })).toEqual({ failure: 'NoPublicAddress' })
  expect(requests).toHaveLength(1)
})

test('refuses a name of whose addresses one is not allowed', async () => {
  expect(await send({ resolve: async () => ['127.0.0.1', '10.0.0.1'] })).toEqual({ failure: 'NoPublicAddress' })
  expect(requests).toEqual([])
})

test('does not follow a redirect', async () => {
  answer = (response) => response.writeHead(302, { location: '/other' }).end()
  expect(await send()).toEqual({ statusCode: 302 })
  expect(requests).toHaveLength(1)
})

test('closes the connection after a few KiB of an endless answer, and after the time limit', async () => {
  let closed = 0
  answer = (response, request) => {
    request.socket.on('close', () => (closed += 1))
    response.writeHead(200)
    const write = (): void => {
      while (!response.destroyed && response.write('x'.repeat(1_024)));
      if (!response.destroyed) response.once('drain', write)
    }
    write()
  }
  expect(await send()).toEqual({ statusCode: 200 })
  await eventually('the connection is closed', async () => closed === 1)

  answer = () => undefined
  const held = send()
  await eventually('the request has arrived', async () => requests.length === 2)
  clock.advance(10_000)
  expect(await held).toEqual({ failure: 'TimedOut' })
})

test('times out while the name is looked up', async () => {
  const resolve: Resolve = (_, signal) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('cancelled'))))
  const held = send({ resolve })
  clock.advance(10_000)
  expect(await held).toEqual({ failure: 'TimedOut' })
})

test('refuses a certificate of an unknown authority, and one for another name', async () => {
  expect(await send({ authorities: [] })).toEqual({ failure: 'TlsFailed' })
  expect(await send({ host: 'other.example.test' })).toEqual({ failure: 'TlsFailed' })
  expect(requests).toEqual([])
})

test('reports a connection that is refused or closed without an answer', async () => {
  answer = (response) => response.destroy()
  expect(await send()).toEqual({ failure: 'ConnectionFailed' })
})
