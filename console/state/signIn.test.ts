import { describe, expect, test } from 'vitest'
import {
  type Attempt,
  judgeReturn,
  parseAttempt,
  parseReturn,
  parseToken,
  planToken,
  renewalOf,
  type Token,
} from './signIn.ts'

const minuteMs = 60_000
const attempt: Attempt = {
  id: 'example',
  issuer: 'https://id.example.com',
  name: 'Example',
  state: 's',
  nonce: 'n',
  codeVerifier: 'v',
  path: '/console/launch/?q=lobby',
  isKept: false,
  startedAtMs: 0,
}
const token: Token = {
  id: 'example',
  issuer: 'https://id.example.com',
  name: 'Example',
  accessToken: 'a',
  refreshToken: 'r',
  receivedAtMs: 0,
  expiresAtMs: 60 * minuteMs,
}
const { refreshToken: _, ...lonely } = token

describe('the address of the console', () => {
  const parse = (path: string) => parseReturn(new URL(path, 'https://orrery.example.com'))
  test('is a return with a code or an error', () => {
    const returned = { code: 'c', state: 's', error: '', issuer: 'i', issuerId: 'example' }
    expect(parse('/console/?issuer=example&code=c&state=s&iss=i')).toEqual(returned)
    const failed = { code: '', state: 's', error: 'e', issuer: undefined, issuerId: '' }
    expect(parse('/console/?error=e&state=s')).toEqual(failed)
  })
  test.each(['/console/', '/console/?q=code', '/console/?issuer=example', '/console/launch/?code=c&state=s'])(
    'is none at %s',
    (path) => {
      expect(parse(path)).toBeUndefined()
    },
  )
})

describe('a return', () => {
  const returned = { state: 's', code: 'c', error: '', issuer: undefined, issuerId: 'example' }
  test('with the state of the attempt gives the code and the place', () => {
    for (const given of [returned, { ...returned, issuer: attempt.issuer }]) {
      const expected = { kind: 'code', returned: given, attempt, path: '/console/launch/?q=lobby' }
      expect(judgeReturn(given, attempt, 10 * minuteMs)).toEqual(expected)
    }
  })
  test.each([
    ['without an attempt', returned, undefined],
    ['with another state', { ...returned, state: 't' }, attempt],
    ['without a state', { ...returned, state: '', error: 'call 555' }, attempt],
  ])('%s is foreign, and says so', (_, given, known) => {
    const text = expect.stringMatching(/^The address is not the answer to a sign-in of this tab/)
    expect(judgeReturn(given, known, 0)).toEqual({ kind: 'foreign', text, path: '/console/' })
  })
  test.each([
    ['after more than 10 minutes', returned, attempt, 10 * minuteMs + 1, /more than 10 minutes/],
    ['of another issuer', { ...returned, issuer: 'https://other' }, attempt, 0, /not from Example/],
    ['at the address of another issuer', { ...returned, issuerId: 'other' }, attempt, 0, /not from Example/],
    ['at the address of no issuer', { ...returned, issuerId: '' }, attempt, 0, /not from Example/],
    [
      'with an error',
      { ...returned, code: '', error: 'access_denied' },
      attempt,
      0,
      /Example refused.*: access_denied\./,
    ],
    ['with a text as error', { ...returned, code: '', error: 'call 555' }, attempt, 0, /: unknown error\./],
  ])('%s fails, and says why', (_, given, known, nowMs, text) => {
    expect(judgeReturn(given, known, nowMs)).toMatchObject({ kind: 'failed', text: expect.stringMatching(text) })
  })
  test('leads nowhere outside of the console', () => {
    expect(judgeReturn(returned, { ...attempt, path: '//other.example/' }, 0).path).toBe('/console/')
  })
})

test('the storage gives an attempt and a token back, and nothing for any other text', () => {
  expect(parseAttempt(JSON.stringify(attempt))).toEqual(attempt)
  expect(parseToken(JSON.stringify(token))).toEqual(token)
  expect(parseToken(JSON.stringify(lonely))).toEqual(lonely)
  for (const text of [undefined, '', 'null', '[]', '{"issuer":1}', JSON.stringify({ ...token, refreshToken: 1 })]) {
    expect([parseAttempt(text), parseToken(text)]).toEqual([undefined, undefined])
  }
})

test('a token is renewed in good time before its end, not by all tabs at once', () => {
  expect([0, 0.999].map((random) => Math.round(renewalOf(token, random) / minuteMs))).toEqual([55, 50])
  const short = { ...token, expiresAtMs: 8 * minuteMs }
  expect([0, 0.999].map((random) => Math.round(renewalOf(short, random) / minuteMs))).toEqual([6, 4])
})

describe('a request', () => {
  const at = (nowMs: number, isRefused = false) => ({ nowMs, isRefused })
  test('uses a token that is valid, or that nobody can renew', () => {
    expect(planToken(token, at(60 * minuteMs - 1))).toEqual({ action: 'use' })
    expect(planToken(lonely, at(61 * minuteMs))).toEqual({ action: 'use' })
  })
  test('renews an expired or refused token', () => {
    expect(planToken(token, at(60 * minuteMs))).toEqual({ action: 'renew' })
    expect(planToken(token, at(minuteMs, true))).toEqual({ action: 'renew' })
  })
  test('renews no new token', () => {
    const new_ = { ...token, expiresAtMs: 1 }
    expect(planToken(new_, at(4_999))).toEqual({ action: 'use' })
    expect(planToken(new_, at(4_999, true))).toMatchObject({ action: 'end', text: expect.stringContaining('refuses') })
  })
  test('ends the session with a refused token that nobody can renew', () => {
    expect(planToken(lonely, at(61 * minuteMs, true))).toMatchObject({
      action: 'end',
      text: expect.stringContaining('expired'),
    })
  })
})
