import { expect, test } from 'vitest'
import { delayByRate, sentAtByServer } from './pace.ts'

const rate = (limit: string, remaining: string, reset: string) =>
  new Headers({ 'ratelimit-limit': limit, 'ratelimit-remaining': remaining, 'ratelimit-reset': reset })

test.each<[string, Headers, number]>([
  ['no headers', new Headers(), 0],
  ['ten requests left', rate('100', '10', '2'), 0],
  ['nine requests left, and two a second come back', rate('100', '9', '46'), 506],
  ['none left, and two a second come back', rate('100', '0', '50'), 5_000],
  ['none left for long', rate('100', '0', '99999'), 10_000],
  ['many requests left', rate('100', '50', '25'), 0],
  ['all of a small limit left', rate('4', '4', '0'), 0],
  ['one of a small limit used', rate('4', '3', '1'), 1_000],
  ['text', rate('100', 'none', '5'), 0],
])('with %s, the next request waits', (_, headers, delayMs) => {
  expect(delayByRate(headers)).toBe(delayMs)
})

test('says the time of a request by the clock of the API', () => {
  const sent = { atMs: 1_000_000, nowMs: 1_004_000 }
  const date = new Date(500_000).toUTCString()
  expect(sentAtByServer(new Headers({ date }), sent)).toBe(496_000)
  expect(sentAtByServer(new Headers({ date: 'soon' }), sent)).toBe(1_000_000)
  expect(sentAtByServer(new Headers(), sent)).toBe(1_000_000)
})
