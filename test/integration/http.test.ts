import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { rootApiKey } from '#test/support/processes.ts'
import { dial } from '#test/support/tcpClient.ts'
import { eventually } from '#test/support/wait.ts'
import { logReads, openRoutes, operations, readsHeader } from './tenancy/matrix.ts'
import { type FullTenant, type Matrix, startMatrix } from './tenancy/support.ts'

let matrix: Matrix
let own: FullTenant
beforeAll(async () => {
  matrix = await startMatrix()
  own = await matrix.aFullTenant('http')
})
afterAll(() => matrix?.stop())

const open = () => {
  const client = dial({ port: Number(new URL(matrix.url).port), host: '127.0.0.1' })
  onTestFinished(() => void client.socket.destroy())
  return client
}
const statusesIn = (received: string): number[] =>
  [...received.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(([, status]) => Number(status))

const close = 'Connection: close\r\n'
test.each([
  ['GET /readyz HTTP/1.0\r\n\r\n', 200],
  ['GET /livez HTTP/1.0\r\n\r\n', 200],
  ['HEAD /readyz HTTP/1.0\r\n\r\n', 200],
  ['OPTIONS / HTTP/1.0\r\n\r\n', 405],
  ['GET /readyz HTTP/1.0\r\nHost: x\r\n\r\n', 200],
  ['GET /readyz HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n', 400],
  ['GET http://api.example/readyz HTTP/1.0\r\n\r\n', 200],
  [`GET /readyz HTTP/1.1\r\nHost: x\r\n${close}\r\n`, 200],
  [`GET /readyz HTTP/1.1\r\nHost:\r\n${close}\r\n`, 200],
  [`GET /readyz HTTP/1.1\r\n${close}\r\n`, 400],
  [`GET /readyz HTTP/1.1\r\nHost: a\r\nHost: a\r\n${close}\r\n`, 400],
  [`GET /readyz HTTP/1.1\r\nHost: a\r\nhost: b\r\n${close}\r\n`, 400],
  [`GET /readyz HTTP/1.1\r\nHost: a/b\r\n${close}\r\n`, 400],
  [`GET http://api.example/readyz HTTP/1.1\r\nHost: api.example\r\n${close}\r\n`, 200],
  [`GET HTTP://api.example:8080/readyz?a=b HTTP/1.1\r\nHost: other\r\n${close}\r\n`, 200],
  [`GET https://api.example/readyz HTTP/1.1\r\nHost: other\r\n${close}\r\n`, 200],
  [`GET https://api.example HTTP/1.1\r\nHost: other\r\n${close}\r\n`, 302],
  [`GET http://api.example/api/worlds/?limit=1 HTTP/1.1\r\nHost: other\r\n${close}\r\n`, 401],
  [`GET http://api.example/readyz HTTP/1.1\r\n${close}\r\n`, 400],
  [`GET readyz HTTP/1.1\r\nHost: x\r\n${close}\r\n`, 400],
  [`GET /readyz HTTP/1.1\r\nHost: x\r\nExpect: x\r\n${close}\r\n`, 417],
  ['GET /readyz HTTP/1.0\r\nExpect: 100-continue\r\n\r\n', 200],
])('%j is answered with %i, and its connection ends', async (request, status) => {
  const { socket, seen } = open()
  socket.write(request)
  await eventually('the end of the connection', async () => seen.closed)
  expect(statusesIn(seen.text)).toEqual([status])
})

test('a connection of HTTP/1.0 is kept for a client that asks for it', async () => {
  const { socket, seen } = open()
  for (const path of ['/livez', '/api/openapi.json', '/api/nothing/', '/readyz']) {
    seen.text = ''
    socket.write(`GET ${path} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n`)
    await eventually('the answer', async () => seen.text.includes('\r\n\r\n'))
    expect(seen.text).toMatch(/^Connection: keep-alive\r$/im)
    expect(seen.text).toMatch(/^Content-Length: \d+\r$/im)
    const length = Number(/^Content-Length: (\d+)/im.exec(seen.text)?.[1])
    const head = seen.text.indexOf('\r\n\r\n') + 4
    await eventually('the body', async () => Buffer.byteLength(seen.text.slice(head)) === length)
  }
  expect(seen.closed).toBe(false)
})

describe('Expect: 100-continue', () => {
  const post = (version: string): string =>
    `POST /api/organizations/ HTTP/${version}\r\nHost: x\r\nx-api-key: ${rootApiKey}\r\n` +
    'Content-Type: application/json\r\nContent-Length: 16\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n'
  const body = '{"name": "Acme"}'

  test('gets 100 before the body, and then the response', async () => {
    const { socket, seen } = open()
    socket.write(post('1.1'))
    await eventually('100', async () => seen.text === 'HTTP/1.1 100 Continue\r\n\r\n')
    socket.write(body)
    await eventually('the end of the connection', async () => seen.closed)
    expect(statusesIn(seen.text)).toEqual([100, 200])
  })

  test('is ignored in HTTP/1.0', async () => {
    const { socket, seen } = open()
    socket.write(post('1.0') + body)
    await eventually('the end of the connection', async () => seen.closed)
    expect(statusesIn(seen.text)).toEqual([200])
  })
})

test('a WebSocket handshake may have the absolute form', async () => {
  const { socket, seen } = open()
  const { tenant, ids } = own
  socket.write(
    'GET http://api.example/api/realtime/connect/ HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n' +
      `x-api-key: ${await tenant.key([`${tenant.paths.organization}/**:r`])}\r\n` +
      `x-svc-organization-id: ${ids.organizationId}\r\nx-svc-project-id: ${ids.projectId}\r\n\r\n`,
  )
  await eventually('the answer', async () => seen.text.includes('\r\n\r\n'))
  expect(statusesIn(seen.text)).toEqual([101])
})

describe('HEAD', () => {
  const perRequest = ['date', 'x-request-id', 'connection', 'keep-alive', 'transfer-encoding']
  const exchange = (method: string, path: string, headers: Record<string, string>) =>
    new Promise<{ status: number | undefined; headers: IncomingHttpHeaders; body: string }>((resolve, reject) => {
      const sent = httpRequest(`${matrix.url}${path}`, { method, headers: { connection: 'close', ...headers } })
      sent.on('response', async (response) => {
        const kept = Object.entries(response.headers).filter(([name]) => !perRequest.includes(name))
        const body = await text(response)
        resolve({ status: response.statusCode, headers: Object.fromEntries(kept), body })
      })
      sent.on('error', reject).end()
    })
  const headersFor = (scope: Parameters<typeof readsHeader.project>[0]): Record<string, string> => ({
    'x-api-key': rootApiKey,
    ...(readsHeader.organization(scope) && { 'x-svc-organization-id': own.ids.organizationId }),
    ...(readsHeader.project(scope) && { 'x-svc-project-id': own.ids.projectId }),
  })
  const filled = (path: string): string => {
    const ids: Record<string, string> = own.ids
    return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? '')
  }
  const gets = operations.filter(([name, { method }]) => method === 'get' && !logReads.includes(name))
  const files = ['/api/docs/start.js', '/api/files/pictures/x.webp', '/api/nothing/']
  const paths = openRoutes.map((route) => route.replace(/^GET /, '')).filter((path) => !/[:*]/.test(path))

  test.each(gets)('of %s has the status and headers of its GET, and no body', async (_, { path, scope = 'none' }) => {
    const headers = headersFor(scope)
    const [get, head] = [await exchange('GET', filled(path), headers), await exchange('HEAD', filled(path), headers)]
    expect(head).toEqual({ ...get, body: '' })
  })

  test.each([...paths, ...files])('of %s has the status and headers of its GET, and no body', async (path) => {
    const [get, head] = [await exchange('GET', path, {}), await exchange('HEAD', path, {})]
    expect(head).toEqual({ ...get, body: '' })
  })
})
