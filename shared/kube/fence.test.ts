import { afterEach, expect, test } from 'vitest'
import { isFenced } from './errors.ts'
import { fenceTransport } from './fence.ts'
import { type Answer, json, openStream, silence, startScriptedServer } from './testing/scriptedServer.ts'
import { createTransport, type Request } from './transport.ts'

const undo: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each()
})

const aFencedTransport = async (others: Answer[], { askedAt = [] as boolean[] } = {}) => {
  const server = await startScriptedServer({ others, watches: [openStream()] })
  const transport = createTransport({ credentials: server.credentials, userAgent: 'tests', random: () => 0 })
  undo.push(server.close, transport.close)
  const closed = new AbortController()
  const state = { held: true }
  const fence = {
    refusal: () => ((askedAt.shift() ?? state.held) ? undefined : 'the lease is not held'),
    closed: closed.signal,
  }
  return { server, state, closed, transport: fenceTransport(transport, fence) }
}

const write: Request = { method: 'POST', path: '/api/v1/x', body: {} }
const failureOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'no failure',
    (error: unknown) => error,
  )

test('a write passes while the lease is held', async () => {
  const { server, transport } = await aFencedTransport([json({ ok: true })])
  expect(await transport.request(write)).toEqual({ ok: true })
  expect(server.received).toHaveLength(1)
})

test('no write of any method is sent while it is not, and reads and watches go on', async () => {
  const { server, state, transport } = await aFencedTransport([json({ read: true })])
  state.held = false
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'] as const) {
    const failure = await failureOf(transport.request({ ...write, method }))
    expect(isFenced(failure)).toBe(true)
    expect(String(failure)).toContain(`${method} /api/v1/x: not sent: the lease is not held`)
  }
  expect(await transport.request({ method: 'GET', path: '/api/v1/x' })).toEqual({ read: true })
  expect(server.received.map(({ method }) => method)).toEqual(['GET'])
})

test('a write that was allowed when it was begun, and is not when its connection stands, is not sent', async () => {
  const { server, transport } = await aFencedTransport([json({ ok: true })], { askedAt: [true, false] })
  expect(isFenced(await failureOf(transport.request(write)))).toBe(true)
  expect(server.received).toEqual([])
  expect(await transport.request(write)).toEqual({ ok: true })
})

test('once the fence is closed for good, a write under way is broken off', async () => {
  const { closed, server, transport } = await aFencedTransport([silence])
  const failure = failureOf(transport.request(write))
  while (server.received.length === 0) await new Promise((resolve) => setImmediate(resolve))
  closed.abort()
  expect(await failure).toMatchObject({ status: 0, reason: 'Aborted' })
})
