import { expect, test } from 'vitest'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { createServerTime } from './serverTime.ts'

const noonMs = Date.UTC(2026, 0, 1, 12)
const minuteMs = 60_000
const dateAt = (ms: number): string => new Date(ms).toUTCString()

test('returns the time of this machine while it agrees with the API server', () => {
  const clock = createFakeClock(noonMs)
  const time = createServerTime(clock)
  expect(time.now()).toBe(noonMs)
  clock.advance(700)
  time.observe(dateAt(noonMs))
  clock.advance(1_234)
  expect(time.now()).toBe(noonMs + 1_934)
})

test.each([10 * minuteMs, -10 * minuteMs])(
  'returns the time of the API server while this machine differs by %d ms',
  (aheadMs) => {
    const clock = createFakeClock(noonMs + aheadMs)
    const differences: number[] = []
    const time = createServerTime(clock, (ms) => differences.push(ms))
    time.observe(dateAt(noonMs))
    clock.advance(5_000)
    expect(time.now()).toBe(noonMs + 5_000)
    expect(time.now()).toBe(noonMs + 5_000)
    expect(differences).toEqual([aheadMs])
    clock.jump(-aheadMs)
    expect(time.now()).toBe(clock.now())
  },
)

test('a slow response does not turn the time back, and an outdated time is replaced', () => {
  const clock = createFakeClock(noonMs + 10 * minuteMs)
  const time = createServerTime(clock)
  time.observe(dateAt(noonMs))
  clock.advance(8_000)
  time.observe(dateAt(noonMs + 2_000))
  expect(time.now()).toBe(noonMs + 8_000)
  clock.advance(minuteMs)
  time.observe(dateAt(noonMs))
  expect(time.now()).toBe(noonMs)
})

test('ignores a text that is no date', () => {
  const time = createServerTime(createFakeClock(noonMs))
  time.observe('yesterday')
  expect(time.now()).toBe(noonMs)
})
