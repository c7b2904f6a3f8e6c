import { expect, test } from 'vitest'
import { createServerTime } from '#shared/kube/serverTime.ts'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { createRunClock } from './runClock.ts'

const minutesMs = 60_000

test('a jump of the wall clock does not change the age of a known run', () => {
  const wall = createFakeClock(1_000_000)
  const clock = createRunClock(wall)
  expect(clock.now('world', 'run')).toBe(1_000_000)
  wall.advance(5 * minutesMs)
  wall.jump(10 * minutesMs)
  expect(clock.now('world', 'run')).toBe(1_000_000 + 5 * minutesMs)
  wall.jump(-20 * minutesMs)
  wall.advance(minutesMs)
  expect(clock.now('world', 'run')).toBe(1_000_000 + 6 * minutesMs)
})

test('a new run begins with the wall clock', () => {
  const wall = createFakeClock(1_000_000)
  const clock = createRunClock(wall)
  clock.now('world', 'first')
  wall.jump(10 * minutesMs)
  expect(clock.now('world', 'second')).toBe(wall.now())
})

test('a new process begins each run with the wall clock', () => {
  const wall = createFakeClock(1_000_000)
  createRunClock(wall).now('world', 'run')
  wall.advance(minutesMs)
  expect(createRunClock(wall).now('world', 'run')).toBe(wall.now())
})

test('a forgotten world begins with the wall clock again', () => {
  const wall = createFakeClock(1_000_000)
  const clock = createRunClock(wall)
  clock.now('world', 'run')
  wall.jump(minutesMs)
  clock.forget('world')
  expect(clock.now('world', 'run')).toBe(wall.now())
})

test('a new leader whose wall clock is ten minutes ahead begins each run with the time of the API server', () => {
  const wall = createFakeClock(1_000_000 + 10 * minutesMs)
  const time = createServerTime(wall)
  time.observe(new Date(1_000_000).toUTCString())
  const clock = createRunClock({ ...wall, now: time.now })
  expect(clock.now('world', 'run')).toBe(1_000_000)
})
