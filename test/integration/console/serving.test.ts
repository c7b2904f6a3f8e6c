import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import { dial } from '#test/support/tcpClient.ts'
import { eventually } from '#test/support/wait.ts'

let api: ApiProcess
beforeAll(async () => {
  api = await startApi({ databaseUrl: await aDatabase() })
})
afterAll(() => api?.stop())

type Answer = { status: number | undefined; headers: IncomingHttpHeaders; body: Buffer }

/** Sends a request without the defaults of fetch, which decompresses answers. */
const exchange = (path: string, headers: Record<string, string> = {}, method = 'GET', base = api.url) =>
  new Promise<Answer>((resolve, reject) => {
    httpRequest(`${base}${path}`, { method, headers }, async (response) =>
      resolve({ status: response.statusCode, headers: response.headers, body: await buffer(response) }),
    )
      .on('error', reject)
      .end()
  })

const assetsOf = (page: string): string[] =>
  [...page.matchAll(/(?:src|href)="(\/console\/[^"]+)"/g)].map(([, at = '']) => at)
const isPage = ({ body }: Answer): boolean => body.toString().includes('<div id="console">')

test.each(['/', '/console'])('leads from %s to the console', async (path) => {
  const { status, headers } = await exchange(path)
  expect([status, headers.location]).toEqual([302, '/console/'])
})

test.each(['/console/', '/console/organizations/o/projects/p/worlds/w/logs/?q=phase%3AError', '/console/icon.svg'])(
  'serves the page at %s, which a client must validate each time',
  async (path) => {
    const answer = await exchange(path)
    expect(answer).toMatchObject({
      status: 200,
      headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache', vary: 'accept-encoding' },
    })
    expect(isPage(answer)).toBe(true)
    const etag = answer.headers.etag ?? ''
    const again = await exchange(path, { 'if-none-match': etag })
    expect(again).toMatchObject({ status: 304, headers: { etag, 'cache-control': 'no-cache' } })
    expect(again.body).toHaveLength(0)
  },
)

test('the page loads only itself: its policy refuses all but own files and the own origin', async () => {
  const { headers } = await exchange('/console/')
  expect(headers['content-security-policy']).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; " +
      "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  )
  expect(headers).toMatchObject({
    'cross-origin-opener-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  })
})

test('the page says what to do if its scripts do not come, as from an older replica during an update', async () => {
  const { body } = await exchange('/console/')
  expect(body.toString()).toContain('<div id="console">Loading. If this stays, load the page again.</div>')
})

test('every asset of the page is served for a year, with its type', async () => {
  const paths = assetsOf((await exchange('/console/')).body.toString())
  expect(paths.some((path) => path.endsWith('.js'))).toBe(true)
  const types = { js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8', svg: 'image/svg+xml' }
  for (const path of paths) {
    const { status, headers } = await exchange(path)
    const type = types[path.split('.').at(-1) as keyof typeof types]
    expect([path, status, headers['content-type'], headers['cache-control'], headers.vary]).toEqual([
      path,
      200,
      type,
      'public, max-age=31536000, immutable',
      'accept-encoding',
    ])
  }
})

test.each([
  ['br', 'gzip, deflate, br', brotliDecompressSync],
  ['gzip', 'gzip, br;q=0', gunzipSync],
] as const)('sends %s, made at build time, to a client that accepts %j', async (encoding, accepted, decompress) => {
  const paths = ['/console/', ...assetsOf((await exchange('/console/')).body.toString())]
  for (const path of paths) {
    const plain = await exchange(path)
    expect(plain.headers['content-encoding']).toBeUndefined()
    const answer = await exchange(path, { 'accept-encoding': accepted })
    expect(answer.headers).toMatchObject({
      'content-encoding': encoding,
      'content-type': plain.headers['content-type'],
      'content-length': String(answer.body.length),
    })
    expect(answer.headers.etag).not.toBe(plain.headers.etag)
    expect(decompress(answer.body).equals(plain.body)).toBe(true)
  }
})

test('HEAD has the headers of GET and no body', async () => {
  for (const path of ['/console/', ...assetsOf((await exchange('/console/')).body.toString())]) {
    const [get, head] = [await exchange(path), await exchange(path, {}, 'HEAD')]
    const { 'content-type': type, 'content-length': length, etag, 'cache-control': caching } = get.headers
    expect([path, head.status, head.body.length]).toEqual([path, get.status, 0])
    expect(head.headers).toMatchObject({
      'content-type': type,
      'content-length': length,
      etag,
      'cache-control': caching,
    })
  }
})

test.each([
  ['/console/assets/absent.js', 'GET', 404],
  ['/console/assets/', 'GET', 404],
  ['/console/assets/..%2findex.html', 'GET', 404],
  ['/consoles/', 'GET', 404],
  ['/console/', 'POST', 405],
  ['/console/assets/absent.js', 'DELETE', 405],
])('refuses %s by %s with %i, as a problem', async (path, method, status) => {
  const answer = await exchange(path, {}, method)
  expect([answer.status, answer.headers['content-type'], isPage(answer)]).toEqual([
    status,
    'application/problem+json',
    false,
  ])
})

test.each([
  '/console/../../package.json',
  '/console/%2e%2e/%2e%2e/package.json',
  '/console/assets/../../api.mjs',
  '/console/assets/%2e%2e/%2e%2e/api.mjs',
  '/console/assets/..%2f..%2fapi.mjs',
  '/console/assets/%2e%2e%2f%2e%2e%2fapi.mjs',
  '/console/assets/%00',
  '/console/assets/%ff',
  '/console//etc/passwd',
  '/console/packages.json',
  '/console/assets/..\\..\\api.mjs',
])('never serves a file outside of the console: %s', async (path) => {
  const { socket, seen } = dial({ port: Number(new URL(api.url).port), host: '127.0.0.1' })
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
  await eventually('the end of the connection', async () => seen.closed)
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(seen.text)?.[1])
  expect([200, 400, 404]).toContain(status)
  if (status === 200) expect(seen.text).toContain('<div id="console">')
})

test('counts requests against the limit of the address', async () => {
  const limited = await startApi({
    databaseUrl: await aDatabase(),
    settings: { ORRERY_LIMIT_REQUESTS_PER_SECOND: '1', ORRERY_LIMIT_REQUEST_BURST: '3' },
  })
  try {
    const statuses = []
    for (let at = 0; at < 6; at += 1) statuses.push((await exchange('/console/', {}, 'GET', limited.url)).status)
    expect(statuses.slice(0, 3)).toEqual([200, 200, 200])
    expect(statuses).toContain(429)
  } finally {
    await limited.stop()
  }
})

describe('with ORRERY_CONSOLE=off', () => {
  let off: ApiProcess
  beforeAll(async () => {
    off = await startApi({ databaseUrl: await aDatabase(), settings: { ORRERY_CONSOLE: 'off' } })
  })
  afterAll(() => off?.stop())

  test('nothing is served, and / leads to the reference page', async () => {
    for (const path of ['/console', '/console/', '/console/assets/index.js']) {
      expect((await exchange(path, {}, 'GET', off.url)).status).toBe(404)
    }
    const { status, headers } = await exchange('/', {}, 'GET', off.url)
    expect([status, headers.location]).toEqual([302, '/api/docs/'])
  })
})
