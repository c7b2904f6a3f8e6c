import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { sleep, systemClock } from './clock.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const dayMs = 86_400_000

test('fires a timer of forty days on time, although one Node timer cannot wait that long', () => {
  const fired = vi.fn()
  systemClock.setTimeout(fired, 40 * dayMs)
  vi.advanceTimersByTime(40 * dayMs - 1)
  expect(fired).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(fired).toHaveBeenCalledOnce()
})

test('does not fire a cancelled timer, even after its first Node timer', () => {
  const fired = vi.fn()
  const timer = systemClock.setTimeout(fired, 40 * dayMs)
  vi.advanceTimersByTime(30 * dayMs)
  timer.cancel()
  vi.advanceTimersByTime(30 * dayMs)
  expect([fired.mock.calls.length, vi.getTimerCount()]).toEqual([0, 0])
})

test('ends a sleep after its delay or when its signal aborts, and leaves no timer', async () => {
  const slept = sleep(systemClock, 500)
  vi.advanceTimersByTime(500)
  await slept
  const stop = new AbortController()
  const woken = sleep(systemClock, 500, stop.signal)
  stop.abort()
  await woken
  const skipped = sleep(systemClock, 500, stop.signal)
  await skipped
  expect(vi.getTimerCount()).toBe(0)
})
