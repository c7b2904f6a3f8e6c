import { afterEach, expect, test } from 'vitest'
import { fenceTransport } from './fence.ts'
import { type Answer, json, openStream, silence, startScriptedServer } from './testing/scriptedServer.ts'
import { createTransport, type Request } from './transport.ts'

const cleanups: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const startFencedTransport = async (others: Answer[], { heldPerCheck = [] as boolean[] } = {}) => {
  const server = await startScriptedServer({ others, watches: [openStream()] })
  const transport = createTransport({ credentials: server.credentials, userAgent: 'tests', random: () => 0 })
  cleanups.push(server.close, transport.close)
  const closed = new AbortController()
  const state = { held: true }
  const fence = {
    refusal: () => ((heldPerCheck.shift() ?? state.held) ? undefined : 'the lease is not held'),
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

test('sends a write while the lease is held', async () => {
  const { server, transport } = await startFencedTransport([json({ ok: true })])
  expect(await transport.request(write)).toEqual({ ok: true })
  expect(server.received).toHaveLength(1)
})

test('sends reads, but no write of any method, while the lease is not held', async () => {
  const { server, state, transport } = await startFencedTransport([json({ read: true })])
  state.held = false
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'] as const) {
    const failure = await failureOf(transport.request({ ...write, method }))
    expect(failure).toMatchObject({ status: 0, reason: 'Fenced' })
    expect(String(failure)).toContain(`${method} /api/v1/x: not sent: the lease is not held`)
  }
  expect(await transport.request({ method: 'GET', path: '/api/v1/x' })).toEqual({ read: true })
  expect(server.received.map(({ method }) => method)).toEqual(['GET'])
})

test('does not send a write if the lease is lost while its connection opens', async () => {
  const { server, transport } = await startFencedTransport([json({ ok: true })], { heldPerCheck: [true, false] })
  expect(await failureOf(transport.request(write))).toMatchObject({ status: 0, reason: 'Fenced' })
  expect(server.received).toEqual([])
  expect(await transport.request(write)).toEqual({ ok: true })
})

test('aborts a write in progress when the fence closes', async () => {
  const { closed, server, transport } = await startFencedTransport([silence])
  const failure = failureOf(transport.request(write))
  while (server.received.length === 0) await new Promise((resolve) => setImmediate(resolve))
  closed.abort()
  expect(await failure).toMatchObject({ status: 0, reason: 'Aborted' })
})
