import { expect, test } from 'vitest'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { createBackoff } from './backoff.ts'
import { errorFromStatus, KubeError } from './errors.ts'
import { positionAfter, positionAt } from './position.ts'

const answered = (status: number, body: object = {}) => errorFromStatus(status, body, 'watch')
const unanswered = (reason: string) => new KubeError({ message: reason, status: 0, reason })

test('a watch whose version is too old makes a list, until one is read', () => {
  const expired = positionAfter(positionAt('7'), answered(410))
  expect(expired.mustList).toBe(true)
  expect(positionAfter(expired, answered(500)).mustList).toBe(true)
})

test.each([
  ['a broken connection', unanswered('Unreachable')],
  ['silence', unanswered('Timeout')],
  ['a request for fewer requests', answered(429)],
])('%s never makes a list, however often it comes', (_what, error) => {
  let position = positionAt('7')
  for (let time = 0; time < 10; time += 1) position = positionAfter(position, error)
  expect(position).toEqual(positionAt('7'))
})

test.each([
  ['garbage', unanswered('Malformed')],
  ['an error of the server', answered(500)],
  ['a bug', new TypeError('undefined')],
])('%s at the same place makes a list at the third time', (_what, error) => {
  const first = positionAfter(positionAt('7'), error)
  const second = positionAfter(first, error)
  const third = positionAfter(second, error)
  expect([first.mustList, second.mustList, third.mustList]).toEqual([false, false, true])
})

test('waits double with jitter up to the maximum, and begin anew after a quiet time', () => {
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
