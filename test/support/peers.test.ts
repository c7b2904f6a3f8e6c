import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSecureContext } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPki } from '#dev/kubernetes/pki.ts'
import { callPeer, DeadlineError, within } from '#shared/peers.ts'
import { createFakeClock } from './fakeClock.ts'
import { startHostilePeer } from './hostilePeers.ts'

const dir = mkdtempSync(join(tmpdir(), 'orrery-call-'))
const { signal } = new AbortController()
let plain: Awaited<ReturnType<typeof startHostilePeer>>
let secure: Awaited<ReturnType<typeof startHostilePeer>>
let authority: string
beforeAll(async () => {
  const pki = await openPki(dir, Date.now())
  const { certFile, keyFile } = await pki.server('peer', ['localhost'])
  authority = readFileSync(pki.caFile, 'utf8')
  plain = await startHostilePeer()
  secure = await startHostilePeer({ cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') })
  for (const each of [plain, secure])
    each.become((socket) => socket.write('HTTP/1.1 200 OK\r\nX-Test: 1\r\nContent-Length: 2\r\n\r\nok'))
})
afterAll(() => {
  plain.close()
  secure.close()
  rmSync(dir, { recursive: true })
})

const call = (isSecure: boolean, maxBytes: number) => {
  const url = isSecure ? `https://localhost:${secure.port}` : `http://localhost:${plain.port}`
  return callPeer({ url, signal, maxBytes, secureContext: createSecureContext({ ca: authority }) })
}

test.each([false, true])('returns an answer (TLS: %s)', async (isSecure) => {
  const { statusCode, headers, body, isComplete } = await call(isSecure, 8_192)
  expect([statusCode, headers['x-test'], body.toString(), isComplete]).toEqual([200, '1', 'ok', true])
})

test('counts the bytes of TLS, those of the handshake among them', async () => {
  expect(await call(false, 200)).toMatchObject({ isComplete: true })
  await expect(call(true, 200)).rejects.toThrow('200 bytes')
})

test('tries each address of a name until one answers', async () => {
  const addresses = ['127.0.0.9', '127.0.0.1'].map((address) => ({ address, family: 4 }))
  const url = `https://localhost:${secure.port}`
  const secureContext = createSecureContext({ ca: authority })
  const answer = callPeer({
    url,
    signal,
    maxBytes: 8_192,
    secureContext,
    lookup: (_host, _options, callback) => callback(null, addresses),
  })
  expect((await answer).statusCode).toBe(200)
})

test('ends at the deadline and with the signal of the caller, whatever the call does', async () => {
  const clock = createFakeClock()
  const caller = new AbortController()
  const never = () => new Promise(() => undefined)
  const late = within({ clock, timeoutMs: 1_000 }, never)
  const aborted = within({ clock, timeoutMs: 2_000, signal: caller.signal }, never)
  clock.advance(1_000)
  await expect(late).rejects.toThrow(DeadlineError)
  caller.abort(new Error('the caller has left'))
  await expect(aborted).rejects.toThrow('the caller has left')
  expect(clock.pending).toBe(0)
})
