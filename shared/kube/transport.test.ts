import { afterEach, expect, test } from 'vitest'
import { isConflict, isNotFound, isThrottled, KubeError } from './errors.ts'
import {
  type Answer,
  endedStream,
  json,
  openStream,
  refuse,
  reset,
  silence,
  startScriptedServer,
  tornStream,
} from './testing/scriptedServer.ts'
import { createTransport } from './transport.ts'

const cleanups: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const startTransport = async (script: { others?: Answer[]; watches?: Answer[] }) => {
  const server = await startScriptedServer(script)
  const transport = createTransport({ credentials: server.credentials, userAgent: 'tests', random: () => 0 })
  cleanups.push(server.close, transport.close)
  return { server, transport }
}

const failureOf = async (call: Promise<unknown>): Promise<KubeError> => {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (error instanceof KubeError) return error
  throw new Error(`expected a KubeError, got ${String(error)}`)
}

const readAll = async (lines: AsyncIterable<unknown>): Promise<unknown[]> => {
  const seen: unknown[] = []
  for await (const line of lines) seen.push(line)
  return seen
}

test('reports the time of the API server, also with a refusal', async () => {
  const date = 'Thu, 01 Jan 2026 12:00:00 GMT'
  const server = await startScriptedServer({ others: [refuse(403, 'Forbidden', { date })] })
  const dates: string[] = []
  const transport = createTransport({
    credentials: server.credentials,
    userAgent: 'tests',
    onDate: (each) => dates.push(each),
  })
  cleanups.push(server.close, transport.close)
  await failureOf(transport.request({ method: 'GET', path: '/version' }))
  expect(dates).toEqual([date])
})

test('sends body, content type and credentials, and returns the parsed response', async () => {
  const { server, transport } = await startTransport({ others: [json({ ok: true })] })
  const answer = await transport.request({
    method: 'PATCH',
    path: '/api/v1/x',
    query: { fieldManager: 'me', force: undefined },
    body: { a: 1 },
    contentType: 'application/apply-patch+yaml',
  })
  expect(answer).toEqual({ ok: true })
  expect(server.received).toMatchObject([
    {
      method: 'PATCH',
      path: '/api/v1/x',
      query: { fieldManager: 'me' },
      body: { a: 1 },
      headers: {
        authorization: 'Bearer sesame',
        'content-type': 'application/apply-patch+yaml',
        'user-agent': 'tests',
      },
    },
  ])
})

test('keeps its connection for the next request, also after a deletion with a body', async () => {
  const server = await startScriptedServer({ others: [json({}), json({}), json({})] })
  const transport = createTransport({ credentials: server.credentials, userAgent: 'tests', connections: 1 })
  cleanups.push(server.close, transport.close)
  for (const method of ['DELETE', 'DELETE', 'GET'] as const) {
    const body = method === 'DELETE' ? { body: { gracePeriodSeconds: 1 } } : {}
    await transport.request({ method, path: '/api/v1/x', ...body })
  }
  expect(server.connections()).toBe(1)
})

test('fails with the status, reason, message and Retry-After of a refusal', async () => {
  const { transport } = await startTransport({
    others: [
      refuse(404, 'NotFound'),
      refuse(409, 'Conflict'),
      refuse(429, 'TooManyRequests', { 'retry-after': '3' }),
      refuse(503, 'ServiceUnavailable', {}, { retryAfterSeconds: 7 }),
      (response) => response.writeHead(502).end('<html>bad gateway'),
    ],
  })
  const write = () => failureOf(transport.request({ method: 'POST', path: '/api/v1/x', body: {} }))
  expect(isNotFound(await write())).toBe(true)
  expect(isConflict(await write())).toBe(true)
  const throttled = await write()
  expect([isThrottled(throttled), throttled.retryAfterMs]).toEqual([true, 3_000])
  expect(await write()).toMatchObject({ status: 503, retryAfterMs: 7_000 })
  expect(await write()).toMatchObject({ status: 502, reason: '', message: 'POST /api/v1/x: <html>bad gateway' })
})

test('sends a write only once, even if it fails', async () => {
  const { server, transport } = await startTransport({ others: [reset, json({ never: 'asked' })] })
  const error = await failureOf(transport.request({ method: 'POST', path: '/x', body: {} }))
  expect(error).toMatchObject({ status: 0, reason: 'Unreachable' })
  expect(server.received).toHaveLength(1)
})

test('tries a read three times before it fails', async () => {
  const { server, transport } = await startTransport({
    others: [reset, refuse(503, 'Unavailable'), json({ ok: true }), reset, reset, reset],
  })
  expect(await transport.request({ method: 'GET', path: '/x' })).toEqual({ ok: true })
  expect(await failureOf(transport.request({ method: 'GET', path: '/x' }))).toMatchObject({ reason: 'Unreachable' })
  expect(server.received).toHaveLength(6)
})

test('does not retry a read after a long Retry-After', async () => {
  const { server, transport } = await startTransport({
    others: [refuse(429, 'TooManyRequests', { 'retry-after': '60' })],
  })
  const error = await failureOf(transport.request({ method: 'GET', path: '/x' }))
  expect([error.retryAfterMs, server.received.length]).toEqual([60_000, 1])
})

test('does not retry a permanent refusal', async () => {
  const { server, transport } = await startTransport({ others: [refuse(403, 'Forbidden')] })
  expect(await failureOf(transport.request({ method: 'GET', path: '/x' }))).toMatchObject({ status: 403 })
  expect(server.received).toHaveLength(1)
})

test.each([
  ['no response', silence],
  ['a response that stops half-way', openStream('{"half":')],
])('ends a request at its timeout: %s', async (_what, answer) => {
  const { transport } = await startTransport({ others: [answer] })
  const error = await failureOf(transport.request({ method: 'POST', path: '/x', timeoutMs: 30 }))
  expect(error).toMatchObject({ status: 0, reason: 'Timeout', message: 'POST /x: no data for 30 ms' })
})

test('ends a request when its caller aborts it', async () => {
  const { transport } = await startTransport({ others: [silence] })
  const stop = new AbortController()
  const failure = failureOf(transport.request({ method: 'GET', path: '/x', signal: stop.signal }))
  setImmediate(() => stop.abort())
  expect(await failure).toMatchObject({ reason: 'Aborted' })
  expect(await failureOf(transport.request({ method: 'GET', path: '/x', signal: stop.signal }))).toMatchObject({
    reason: 'Aborted',
  })
})

test('rejects a successful response that is not JSON', async () => {
  const { transport } = await startTransport({ others: [endedStream('<html>login')] })
  const error = await failureOf(transport.request({ method: 'GET', path: '/x' }))
  expect(error).toMatchObject({ reason: 'Malformed', message: expect.stringContaining('<html>login') })
})

const openWatch = (
  transport: Awaited<ReturnType<typeof startTransport>>['transport'],
  { signal = new AbortController().signal, idleTimeoutMs = 30_000 } = {},
) => transport.watch({ path: '/x', query: { watch: 'true' }, signal, idleTimeoutMs })

test('returns the lines of a watch whole, however the stream is split', async () => {
  const text = Buffer.from(`{"name":"Zoë"}\n\n{"n":2}\n`)
  const bytes = [...text].map((byte) => Buffer.from([byte]))
  const { transport } = await startTransport({
    watches: [endedStream(...bytes), endedStream(text), endedStream('{"n":1}\n{"br')],
  })
  expect(await readAll(openWatch(transport))).toEqual([{ name: 'Zoë' }, { n: 2 }])
  expect(await readAll(openWatch(transport))).toEqual([{ name: 'Zoë' }, { n: 2 }])
  expect(await readAll(openWatch(transport))).toEqual([{ n: 1 }])
})

test.each([
  ['a line that is not JSON', endedStream('{"n":1}\nxyz\n'), { reason: 'Malformed' }],
  ['a broken connection', tornStream('{"n":1}\n'), { reason: 'Unreachable' }],
  ['a timeout', openStream('{"n":1}\n'), { reason: 'Timeout' }],
])('returns the earlier lines of a watch and then fails on %s', async (_what, answer, expected) => {
  const { transport } = await startTransport({ watches: [answer] })
  const seen: unknown[] = []
  const reading = (async () => {
    for await (const line of openWatch(transport, { idleTimeoutMs: 1_000 })) seen.push(line)
  })()
  expect(await failureOf(reading)).toMatchObject({ status: 0, ...expected })
  expect(seen).toEqual([{ n: 1 }])
})

test('fails a refused watch with its status and Retry-After', async () => {
  const { transport } = await startTransport({ watches: [refuse(429, 'TooManyRequests', { 'retry-after': '1' })] })
  expect(await failureOf(readAll(openWatch(transport)))).toMatchObject({ status: 429, retryAfterMs: 1_000 })
})

test('ends a watch at once when its caller aborts it or stops reading', async () => {
  const { transport } = await startTransport({ watches: [openStream('{"n":1}\n'), openStream('{"n":1}\n')] })
  const stop = new AbortController()
  const lines = openWatch(transport, stop)[Symbol.asyncIterator]()
  await lines.next()
  stop.abort()
  expect(await failureOf(lines.next())).toMatchObject({ reason: 'Aborted' })
  for await (const _line of openWatch(transport)) break
})
