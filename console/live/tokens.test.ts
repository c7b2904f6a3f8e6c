import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createClient } from '#client/client.ts'
import type { Token } from '#console/state/signIn.ts'
import { createTokens } from './tokens.ts'

const minuteMs = 60_000
beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse('2026-11-28T14:00:00.000Z') })
  // The time of a renewal has jitter.
  vi.spyOn(Math, 'random').mockReturnValue(0)
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** Creates the tokens of a session of an hour. Each renewal waits for an answer of the test. */
const someTokens = (more: Partial<Token> = {}) => {
  const sent: string[] = []
  const waiting: PromiseWithResolvers<Response>[] = []
  const fetch: typeof globalThis.fetch = (_, init) => {
    sent.push(JSON.parse(String(init?.body)).refreshToken)
    const answer = Promise.withResolvers<Response>()
    waiting.push(answer)
    return answer.promise
  }
  const nowMs = Date.now()
  const first = { id: 'i', issuer: 'https://id', name: 'Example', accessToken: 'a1', refreshToken: 'r1' }
  const renewed: Token[] = []
  const ends: string[] = []
  const tokens = createTokens(
    { ...first, receivedAtMs: nowMs, expiresAtMs: nowMs + 60 * minuteMs, ...more },
    {
      client: createClient({ baseUrl: 'https://orrery.example.com', fetch }),
      onRenewed: (token) => renewed.push(token),
      onEnd: (text) => ends.push(text),
    },
  )
  const answer = async (response: Response): Promise<void> => {
    waiting.shift()?.resolve(response)
    await vi.advanceTimersByTimeAsync(0)
  }
  return { tokens, sent, renewed, ends, answer }
}
const next = (accessToken: string, more: object = {}, serverMs = Date.now()): Response =>
  Response.json(
    { accessToken, expiresAt: new Date(serverMs + 60 * minuteMs).toISOString(), ...more },
    { headers: { date: new Date(serverMs).toUTCString() } },
  )
const refusal = (status: number): Response => Response.json({ status, code: 'code', detail: 'Why.' }, { status })

test('a token is renewed once before it expires, while requests go on with the present one', async () => {
  const { tokens, sent, renewed, answer } = someTokens()
  await vi.advanceTimersByTimeAsync(54 * minuteMs)
  expect(sent).toEqual([])
  await vi.advanceTimersByTimeAsync(minuteMs)
  expect([sent, await tokens.present()]).toEqual([['r1'], 'a1'])
  await answer(next('a2', { refreshToken: 'r2' }))
  expect(await tokens.present()).toBe('a2')
  expect(renewed).toMatchObject([{ accessToken: 'a2', refreshToken: 'r2' }])
  await vi.advanceTimersByTimeAsync(55 * minuteMs)
  expect(sent).toEqual(['r1', 'r2'])
  tokens.close()
})

test('after a sleep of the computer, all requests wait for one renewal', async () => {
  const { tokens, sent, answer } = someTokens()
  vi.setSystemTime(Date.now() + 600 * minuteMs)
  const requests = Promise.all([tokens.present(), tokens.present('a1'), tokens.present()])
  await vi.advanceTimersByTimeAsync(0)
  await answer(next('a2'))
  expect(await requests).toEqual(['a2', 'a2', 'a2'])
  expect(sent).toEqual(['r1'])
  tokens.close()
})

test('the life of a token is that by the clock of the API, and an issuer without another refresh token keeps the last one', async () => {
  const { tokens, renewed, answer } = someTokens()
  await vi.advanceTimersByTimeAsync(6_000)
  void tokens.present('a1')
  await vi.advanceTimersByTimeAsync(0)
  await answer(next('a2', {}, Date.now() - 24 * 60 * minuteMs))
  expect(renewed).toMatchObject([{ refreshToken: 'r1', expiresAtMs: Date.now() + 60 * minuteMs }])
  tokens.close()
})

test('a renewal that fails is tried again, and a refused one ends the session once', async () => {
  const { tokens, sent, ends, answer } = someTokens()
  await vi.advanceTimersByTimeAsync(55 * minuteMs)
  for (const status of [503, 404, 403]) {
    await answer(refusal(status))
    expect(await tokens.present()).toBe('a1')
    await vi.advanceTimersByTimeAsync(10_000)
  }
  expect(sent).toEqual(['r1', 'r1', 'r1', 'r1'])
  await answer(refusal(401))
  expect(ends).toEqual(['Example did not renew the sign-in. Sign in again.'])
  expect(await tokens.present('a1')).toBe('a1')
  await vi.advanceTimersByTimeAsync(60 * minuteMs)
  expect([sent.length, ends.length]).toEqual([4, 1])
})

test('a request fails with the error of a renewal that it needs, and renewals end with the life of the token', async () => {
  const { tokens, sent, ends, answer } = someTokens()
  vi.setSystemTime(Date.now() + 61 * minuteMs)
  const request = expect(tokens.present()).rejects.toMatchObject({ status: 503 })
  await vi.advanceTimersByTimeAsync(0)
  await answer(refusal(503))
  await request
  await vi.advanceTimersByTimeAsync(minuteMs)
  await answer(refusal(503))
  await vi.advanceTimersByTimeAsync(60 * minuteMs)
  expect(sent).toEqual(['r1', 'r1'])
  expect(ends).toEqual([])
})

test('an API that refuses each token ends the session at the first request', async () => {
  const { tokens, sent, ends, answer } = someTokens()
  await vi.advanceTimersByTimeAsync(minuteMs)
  const client = createClient({
    baseUrl: 'https://orrery.example.com',
    bearerToken: tokens.present,
    fetch: async () => refusal(401),
  })
  const request = expect(client.getCurrentCredential()).rejects.toMatchObject({ status: 401 })
  await vi.advanceTimersByTimeAsync(0)
  await answer(next('a2'))
  await request
  expect(ends).toEqual(['The API refuses the token of Example. Sign in again.'])
  await vi.advanceTimersByTimeAsync(60 * minuteMs)
  expect(sent).toEqual(['r1'])
})

test('a closed session renews nothing and says nothing, whatever a late answer is', async () => {
  for (const late of [next('a2'), refusal(401)]) {
    const { tokens, sent, renewed, ends, answer } = someTokens()
    vi.setSystemTime(Date.now() + 61 * minuteMs)
    const request = tokens.present()
    await vi.advanceTimersByTimeAsync(0)
    tokens.close()
    await answer(late)
    expect(await request).toBe('a1')
    await vi.advanceTimersByTimeAsync(60 * minuteMs)
    expect([sent, renewed, ends]).toEqual([['r1'], [], []])
  }
})
