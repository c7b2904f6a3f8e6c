import { expect, test } from 'vitest'
import { refusalOfWake } from './wakeRate.ts'
import { showWaker, wakerOf } from './waker.ts'

const nowMs = 1_000_000

test('a wake is allowed without a wake that reaches a rate', () => {
  expect(refusalOfWake({ worldMs: null, wakerMs: null }, nowMs)).toBeUndefined()
})

test.each([
  ['the world', { worldMs: nowMs - 20_000, wakerMs: null }, '1 wake per minute and world', 40],
  ['the waker', { worldMs: null, wakerMs: nowMs - 59_500 }, '6 wakes per minute and user', 1],
  ['both, the world for longer', { worldMs: nowMs - 1_000, wakerMs: nowMs - 2_000 }, '1 wake per minute and world', 59],
  ['both, the waker for longer', { worldMs: nowMs - 2_000, wakerMs: nowMs - 1_000 }, '6 wakes per minute and user', 59],
  ['a wake of a clock that is ahead', { worldMs: nowMs + 90_000, wakerMs: null }, '1 wake per minute and world', 60],
])('a refusal for the rate of %s names the rate that ends last, and the time until then', (_, wakes, rate, seconds) => {
  const refusal = refusalOfWake(wakes, nowMs)
  expect(refusal).toMatchObject({ status: 429, message: `The rate limit is ${rate}. Retry in ${seconds} s.` })
  expect(refusal?.headers).toEqual({ 'retry-after': String(seconds) })
})

test('a waker is an id within its organization, and other organizations do not see the id', () => {
  const [user, same, other] = [
    wakerOf({ organizationId: 'org-1' }, 'a/b'),
    wakerOf({ organizationId: 'org-1' }, 'a/b'),
    wakerOf({ organizationId: 'org-2' }, 'a/b'),
  ]
  expect([user === same, user === other]).toEqual([true, false])
  expect(showWaker(user, 'org-1')).toBe('a/b')
  expect(showWaker(user, 'org-2')).toBe('A user of another organization')
  expect(showWaker(wakerOf({}, 'platform'), 'org-1')).toBe('platform')
})

test('an id of any length fits into the index of wakers', () => {
  const waker = wakerOf({ organizationId: 'org-1' }, '😀'.repeat(512))
  expect(waker.isWellFormed()).toBe(true)
  expect(Buffer.byteLength(waker)).toBeLessThan(2_000)
})
