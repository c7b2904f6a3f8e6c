import type { Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { readMetric } from '#test/support/metrics.ts'
import { type ApiProcess, aDatabase, rootApiKey, startApi } from '#test/support/processes.ts'
import { dial } from '#test/support/tcpClient.ts'
import { aTenant } from '#test/support/tenant.ts'
import { expectWithin } from '#test/support/timing.ts'
import { eventually } from '#test/support/wait.ts'

let api: ApiProcess
beforeAll(async () => {
  const settings = {
    ORRERY_TRUSTED_PROXIES: '127.0.0.2/32, fd00::/8',
    ORRERY_LIMIT_CONNECTIONS_PER_ADDRESS: '8',
    ORRERY_LIMIT_FAILED_CREDENTIALS_PER_MINUTE: '5',
    ORRERY_LIMIT_REQUESTS_PER_SECOND: '1',
    ORRERY_LIMIT_REQUEST_BURST: '5',
    ORRERY_LIMIT_IN_FLIGHT_BYTES_PER_ORGANIZATION: String(16 * 1024 * 1024),
  }
  api = await startApi({ databaseUrl: await aDatabase(), settings })
})
afterAll(() => api?.stop())

/** A connection from a loopback address of its own, so that tests do not share limits. */
const dialFrom = (localAddress: string) =>
  dial({ port: Number(new URL(api.url).port), host: '127.0.0.1', localAddress })

const ask = async (from: string, headers: Record<string, string> = {}, path = '/api/worlds/public/') => {
  const { socket, seen } = dialFrom(from)
  const lines = Object.entries({ host: 'x', connection: 'close', ...headers }).map(
    ([name, value]) => `${name}: ${value}`,
  )
  socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
  await eventually('the answer', async () => seen.closed)
  return { status: Number(seen.text.split(' ')[1]), text: seen.text }
}

const upload = (socket: Socket, bytes: number): void => {
  socket.write(`POST /api/worlds/ HTTP/1.1\r\nhost: x\r\ncontent-length: ${bytes}\r\n\r\n`)
}

test('an authorised body that drips is refused with 408 within seconds, and its connection ends', async () => {
  const { socket, seen } = dialFrom('127.0.1.9')
  const lines = ['POST /api/organizations/ HTTP/1.1', 'host: x', `x-api-key: ${rootApiKey}`, 'content-length: 1000']
  socket.write(`${lines.join('\r\n')}\r\ncontent-type: application/json\r\n\r\n`)
  const dripping = setInterval(() => socket.write(' '), 200)
  await eventually('the answer', async () => seen.text !== '')
  expect(seen.text).toMatch(/^HTTP\/1.1 408 /)
  await eventually('the end of the connection', async () => seen.closed)
  clearInterval(dripping)
})

describe('a refused request whose body is still coming', () => {
  test('is answered at once with Connection: close, and its connection ends within seconds', async () => {
    const { socket, seen } = dialFrom('127.0.1.1')
    upload(socket, 30_000_000)
    const dripping = setInterval(() => socket.write('x'), 100)
    const answeredMs = performance.now()
    await eventually('the answer', async () => seen.text !== '')
    expect(seen.text).toMatch(/^HTTP\/1.1 401 /)
    expect(seen.text.toLowerCase()).toContain('connection: close')
    await eventually('the end of the connection', async () => seen.closed)
    clearInterval(dripping)
    expectWithin(performance.now() - answeredMs, 5_000)
  })

  test('also ends soon if the body is small and arrives slowly', async () => {
    const { socket, seen } = dialFrom('127.0.1.4')
    upload(socket, 1_000)
    const dripping = setInterval(() => socket.write('x'), 100)
    await eventually('the answer', async () => seen.text !== '')
    await eventually('the end of the connection', async () => seen.closed)
    clearInterval(dripping)
  })

  test('is read up to the limit of its endpoint, so that a client that writes first gets the answer', async () => {
    const bytes = 10 * 1024 * 1024 + 77
    const { scope } = await aTenant(api.url)
    const { socket, seen } = dialFrom('127.0.1.5')
    socket.pause()
    const lines = [
      'PATCH /api/organizations/current/pictureUrl/ HTTP/1.1',
      'host: x',
      `x-api-key: ${rootApiKey}`,
      `x-svc-organization-id: ${scope.organizationId}`,
      'content-type: image/png',
      `content-length: ${bytes}`,
    ]
    socket.write(`${lines.join('\r\n')}\r\n\r\n`)
    const written = new Promise<Error | null | undefined>((resolve) => socket.write(Buffer.alloc(bytes), resolve))
    expect(await written).toBeFalsy()
    socket.resume()
    await eventually('the end of the connection', async () => seen.closed)
    expect(seen.text).toMatch(/^HTTP\/1.1 413 /)
  })

  test('is not read beyond the limit of its endpoint', async () => {
    const { socket, seen } = dialFrom('127.0.1.2')
    upload(socket, 30_000_000)
    const chunk = Buffer.alloc(64 * 1024)
    const pump = (): void => {
      while (!socket.destroyed && socket.write(chunk)) if (socket.bytesWritten > 29_000_000) return
    }
    socket.on('drain', pump)
    pump()
    await eventually('the end of the connection', async () => seen.closed)
    expect(seen.text).toMatch(/^HTTP\/1.1 401 /)
    // The kernels of both ends buffer some more.
    expect(socket.bytesWritten).toBeLessThan(12_000_000)
  })

  test('of more bytes than allowed is rejected by its Content-Length alone', async () => {
    const { socket, seen } = dialFrom('127.0.1.3')
    socket.write(
      `POST /api/organizations/ HTTP/1.1\r\nhost: x\r\nx-api-key: ${rootApiKey}\r\n` +
        'content-type: application/json\r\ncontent-length: 2000000\r\n\r\n',
    )
    await eventually('the answer', async () => seen.text !== '')
    expect(seen.text).toMatch(/^HTTP\/1.1 413 /)
    await eventually('the end of the connection', async () => seen.closed)
  })
})

describe('the bytes that the requests of an organization hold in memory', () => {
  const heldBytes = (): Promise<number> => readMetric(api.metricsUrl, 'orrery_in_flight_bytes')

  test('are limited: a second upload of 10 MiB gets 429 at once, and the end of the first frees its bytes', async () => {
    const tenant = await aTenant(api.url)
    const key = await tenant.key([`${tenant.paths.organization}/**:w`])
    const begin = () => {
      const { socket, seen } = dialFrom('127.0.1.8')
      const lines = [
        'PATCH /api/organizations/current/pictureUrl/ HTTP/1.1',
        'host: x',
        `x-api-key: ${key}`,
        `x-svc-organization-id: ${tenant.scope.organizationId}`,
        'content-type: image/png',
        'content-length: 10485760',
      ]
      socket.write(`${lines.join('\r\n')}\r\n\r\n`)
      return { socket, seen }
    }
    const first = begin()
    first.socket.write(Buffer.alloc(9 * 1024 * 1024))
    await eventually('the first upload holds its bytes', async () => (await heldBytes()) > 9 * 1024 * 1024)
    const second = begin()
    await eventually('the answer to the second', async () => second.seen.text !== '')
    expect(second.seen.text).toMatch(/^HTTP\/1.1 429 /)
    expect(second.seen.text).toContain('hold too many bytes in memory')
    expect(second.seen.text.toLowerCase()).toContain('retry-after: 2')
    expect(first.seen.text).toBe('')
    first.socket.destroy()
    await eventually('the bytes are free', async () => (await heldBytes()) === 0)
  })
})

describe('connections', () => {
  test('with more than eight waiting requests are closed', async () => {
    const { socket, seen } = dialFrom('127.0.2.2')
    socket.write('GET /api/docs/swagger-ui-bundle.js HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(900))
    await eventually('the end of the connection', async () => seen.closed)
    expect(seen.text.match(/HTTP\/1\.1 200 /g)?.length ?? 0).toBeLessThan(2)
  })

  test('are limited by address, and those of a trusted proxy are not', async () => {
    const open = Array.from({ length: 10 }, () => dialFrom('127.0.2.1'))
    await eventually('those above the limit end', async () => open.filter(({ seen }) => seen.closed).length === 2)
    const proxied = Array.from({ length: 10 }, () => dialFrom('127.0.0.2'))
    expect((await ask('127.0.0.2')).status).toBe(401)
    expect(proxied.filter(({ seen }) => seen.closed)).toEqual([])
    open[0]?.socket.destroy()
    for (const { socket } of [...open, ...proxied]) socket.destroy()
    await eventually('a place is free again', async () => {
      const { socket, seen } = dialFrom('127.0.2.1')
      socket.write('GET /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
      return eventually('the answer', async () => seen.closed && seen.text.startsWith('HTTP/1.1 200'), {
        timeoutMs: 1_000,
      })
    })
  })
})

describe('the address of a client', () => {
  const keyless = '/api/organizations/current/'
  const scope = { 'x-svc-organization-id': 'org-01m7y9g1a7emva3288dhww2jgd' }
  const statuses = async (from: string, headers: Record<string, string>) => {
    const found = []
    for (let at = 0; at < 8; at += 1) found.push((await ask(from, { ...scope, ...headers }, keyless)).status)
    return found
  }

  test('is taken from a trusted proxy, so that clients have separate limits for keyless requests', async () => {
    expect(await statuses('127.0.0.2', { 'x-forwarded-for': '198.51.100.1' })).toContain(429)
    expect((await ask('127.0.0.2', { ...scope, 'x-forwarded-for': '198.51.100.2' }, keyless)).status).toBe(404)
    // The client controls everything before the address that the proxy appends.
    const spoofed = { ...scope, 'x-forwarded-for': '203.0.113.9, 198.51.100.1, fd00::1' }
    expect((await ask('127.0.0.2', spoofed, keyless)).status).toBe(429)
  })

  test('is that of the connection if no proxy is trusted, whatever the header says', async () => {
    const found = []
    for (let at = 0; at < 8; at += 1) {
      found.push((await ask('127.0.3.1', { ...scope, 'x-forwarded-for': `198.51.100.${at}` }, keyless)).status)
    }
    expect(found).toContain(429)
  })

  test('with too many failed credentials gets 429 with Retry-After, unlike valid keys and other addresses', async () => {
    const bad = { 'x-api-key': 'guess' }
    const answers = []
    for (let at = 0; at < 8; at += 1) answers.push(await ask('127.0.3.2', bad))
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401, 429, 429, 429])
    expect(answers.at(-1)?.text.toLowerCase()).toContain('retry-after: ')
    expect((await ask('127.0.3.2', { 'x-api-key': rootApiKey })).status).toBe(200)
    expect((await ask('127.0.3.3', bad)).status).toBe(401)
  })
})

test('a connection whose client does not read its responses is closed, and frees its place', async () => {
  const settings = { ORRERY_LIMIT_CONNECTIONS_PER_ADDRESS: '2' }
  const { url, stop } = await startApi({ databaseUrl: await aDatabase(), settings })
  onTestFinished(() => stop())
  const open = () => dial({ port: Number(new URL(url).port), host: '127.0.0.1', localAddress: '127.0.4.1' })
  // Nine responses of 1.7 MB are more than the system buffers.
  for (const { socket } of [open(), open()]) {
    socket.pause().write('GET /api/docs/swagger-ui-bundle.js HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(9))
    onTestFinished(() => void socket.destroy())
  }
  const isServed = async (): Promise<boolean> => {
    const { socket, seen } = open()
    socket.write('GET /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
    await eventually('the end of the connection', async () => seen.closed)
    return seen.text.startsWith('HTTP/1.1 200')
  }
  await eventually('both places are taken', async () => !(await isServed()))
  await eventually('a place is free', isServed)
})
