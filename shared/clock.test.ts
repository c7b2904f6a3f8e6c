import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { sleep, systemClock } from './clock.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const dayMs = 86_400_000

test('a timer of forty days, more than Node can wait in one, fires after forty days', () => {
  const fired = vi.fn()
  systemClock.setTimeout(fired, 40 * dayMs)
  vi.advanceTimersByTime(40 * dayMs - 1)
  expect(fired).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(fired).toHaveBeenCalledOnce()
})

test('a timer that is called off does not fire, also in its second part', () => {
  const fired = vi.fn()
  const timer = systemClock.setTimeout(fired, 40 * dayMs)
  vi.advanceTimersByTime(30 * dayMs)
  timer.cancel()
  vi.advanceTimersByTime(30 * dayMs)
  expect([fired.mock.calls.length, vi.getTimerCount()]).toEqual([0, 0])
})

test('a sleeper wakes after the time or at once when told, and leaves no timer behind', async () => {
  const slept = sleep(systemClock, 500)
  vi.advanceTimersByTime(500)
  await slept
  const stop = new AbortController()
  const woken = sleep(systemClock, 500, stop.signal)
  stop.abort()
  await woken
  await sleep(systemClock, 500, stop.signal)
  expect(vi.getTimerCount()).toBe(0)
})
