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

const undo: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each()
})

const aTransport = async (script: { others?: Answer[]; watches?: Answer[] }) => {
  const server = await startScriptedServer(script)
  const transport = createTransport({ credentials: server.credentials, userAgent: 'tests', random: () => 0 })
  undo.push(server.close, transport.close)
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

const watchAll = async (lines: AsyncIterable<unknown>): Promise<unknown[]> => {
  const seen: unknown[] = []
  for await (const line of lines) seen.push(line)
  return seen
}

test('a request carries its body, its type and the credentials, and its answer comes parsed', async () => {
  const { server, transport } = await aTransport({ others: [json({ ok: true })] })
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

test('a refusal is told with its status, reason, sentence and the pause that was asked for', async () => {
  const { transport } = await aTransport({
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

test('a write is sent once, whatever becomes of it', async () => {
  const { server, transport } = await aTransport({ others: [reset, json({ never: 'asked' })] })
  const error = await failureOf(transport.request({ method: 'POST', path: '/x', body: {} }))
  expect(error).toMatchObject({ status: 0, reason: 'Unreachable' })
  expect(server.received).toHaveLength(1)
})

test('a read is tried three times before its failure is told', async () => {
  const { server, transport } = await aTransport({
    others: [reset, refuse(503, 'Unavailable'), json({ ok: true }), reset, reset, reset],
  })
  expect(await transport.request({ method: 'GET', path: '/x' })).toEqual({ ok: true })
  expect(await failureOf(transport.request({ method: 'GET', path: '/x' }))).toMatchObject({ reason: 'Unreachable' })
  expect(server.received).toHaveLength(6)
})

test('a read is not held open for a long pause that the server asks for', async () => {
  const { server, transport } = await aTransport({ others: [refuse(429, 'TooManyRequests', { 'retry-after': '60' })] })
  const error = await failureOf(transport.request({ method: 'GET', path: '/x' }))
  expect([error.retryAfterMs, server.received.length]).toEqual([60_000, 1])
})

test('a refusal that no repetition mends is not repeated', async () => {
  const { server, transport } = await aTransport({ others: [refuse(403, 'Forbidden')] })
  expect(await failureOf(transport.request({ method: 'GET', path: '/x' }))).toMatchObject({ status: 403 })
  expect(server.received).toHaveLength(1)
})

test.each([
  ['no answer', silence],
  ['an answer that stops half-way', openStream('{"half":')],
])('a request ends at its deadline: %s', async (_what, answer) => {
  const { transport } = await aTransport({ others: [answer] })
  const error = await failureOf(transport.request({ method: 'POST', path: '/x', timeoutMs: 30 }))
  expect(error).toMatchObject({ status: 0, reason: 'Timeout', message: 'POST /x: nothing came for 30 ms' })
})

test('a request ends when its caller gives up', async () => {
  const { transport } = await aTransport({ others: [silence] })
  const stop = new AbortController()
  const failure = failureOf(transport.request({ method: 'GET', path: '/x', signal: stop.signal }))
  setImmediate(() => stop.abort())
  expect(await failure).toMatchObject({ reason: 'Aborted' })
  expect(await failureOf(transport.request({ method: 'GET', path: '/x', signal: stop.signal }))).toMatchObject({
    reason: 'Aborted',
  })
})

test('an answer of success that is not JSON is a fault and not a result', async () => {
  const { transport } = await aTransport({ others: [endedStream('<html>login')] })
  const error = await failureOf(transport.request({ method: 'GET', path: '/x' }))
  expect(error).toMatchObject({ reason: 'Malformed', message: expect.stringContaining('<html>login') })
})

const aWatch = (
  transport: Awaited<ReturnType<typeof aTransport>>['transport'],
  signal = new AbortController().signal,
) => transport.watch({ path: '/x', query: { watch: 'true' }, signal, idleTimeoutMs: 60 })

test('the lines of a watch come out whole, however the stream is cut', async () => {
  const text = Buffer.from(`{"name":"Zoë"}\n\n{"n":2}\n`)
  const bytes = [...text].map((byte) => Buffer.from([byte]))
  const { transport } = await aTransport({
    watches: [endedStream(...bytes), endedStream(text), endedStream('{"n":1}\n{"br')],
  })
  expect(await watchAll(aWatch(transport))).toEqual([{ name: 'Zoë' }, { n: 2 }])
  expect(await watchAll(aWatch(transport))).toEqual([{ name: 'Zoë' }, { n: 2 }])
  expect(await watchAll(aWatch(transport))).toEqual([{ n: 1 }])
})

test.each([
  ['a line that is no JSON', endedStream('{"n":1}\nxyz\n'), { reason: 'Malformed' }],
  ['a broken connection', tornStream('{"n":1}\n'), { reason: 'Unreachable' }],
  ['silence', openStream('{"n":1}\n'), { reason: 'Timeout' }],
])('a watch gives what it had and then fails at %s', async (_what, answer, expected) => {
  const { transport } = await aTransport({ watches: [answer] })
  const seen: unknown[] = []
  const reading = (async () => {
    for await (const line of aWatch(transport)) seen.push(line)
  })()
  expect(await failureOf(reading)).toMatchObject({ status: 0, ...expected })
  expect(seen).toEqual([{ n: 1 }])
})

test('a refused watch is told with its status and pause', async () => {
  const { transport } = await aTransport({ watches: [refuse(429, 'TooManyRequests', { 'retry-after': '1' })] })
  expect(await failureOf(watchAll(aWatch(transport)))).toMatchObject({ status: 429, retryAfterMs: 1_000 })
})

test('a watch ends at once when its caller gives up, and so does one that is left', async () => {
  const { transport } = await aTransport({ watches: [openStream('{"n":1}\n'), openStream('{"n":1}\n')] })
  const stop = new AbortController()
  const lines = aWatch(transport, stop.signal)[Symbol.asyncIterator]()
  await lines.next()
  stop.abort()
  expect(await failureOf(lines.next())).toMatchObject({ reason: 'Aborted' })
  for await (const _line of aWatch(transport)) break
})
