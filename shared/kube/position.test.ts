import { expect, test } from 'vitest'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { createBackoff } from './backoff.ts'
import { errorFromStatus, KubeError } from './errors.ts'
import { positionAfter, positionAt } from './position.ts'

const statusError = (status: number, body: object = {}) => errorFromStatus(status, body, 'watch')
const connectionError = (reason: string) => new KubeError({ message: reason, status: 0, reason })

test('requires a list after an expired version, also after further failures', () => {
  const expired = positionAfter(positionAt('7'), statusError(410))
  expect(expired.mustList).toBe(true)
  expect(positionAfter(expired, statusError(500)).mustList).toBe(true)
})

test.each([
  ['a broken connection', connectionError('Unreachable')],
  ['a timeout', connectionError('Timeout')],
  ['a throttled request', statusError(429)],
])('never requires a list after %s, however often it occurs', (_what, error) => {
  let position = positionAt('7')
  for (let time = 0; time < 10; time += 1) position = positionAfter(position, error)
  expect(position).toEqual(positionAt('7'))
})

test.each([
  ['a malformed line', connectionError('Malformed')],
  ['a server error', statusError(500)],
  ['a bug', new TypeError('undefined')],
])('requires a list if %s is the third failure at one position', (_what, error) => {
  const first = positionAfter(positionAt('7'), error)
  const second = positionAfter(first, error)
  const third = positionAfter(second, error)
  expect([first.mustList, second.mustList, third.mustList]).toEqual([false, false, true])
})

test('doubles the backoff with jitter up to the maximum, and resets it after a quiet time', () => {
  const clock = createFakeClock()
  const timing = { firstBackoffMs: 800, maxBackoffMs: 30_000, resetBackoffMs: 120_000 }
  const wait = createBackoff(timing, clock, () => 0.5)
  expect([wait(), wait(), wait(), wait(), wait(), wait(), wait()]).toEqual([
    1200, 2400, 4800, 9600, 19_200, 30_000, 30_000,
  ])
  clock.advance(120_000)
  expect(wait()).toBe(30_000)
  clock.advance(120_001)
  expect(wait()).toBe(1200)
})
