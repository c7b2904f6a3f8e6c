import { expect, test } from 'vitest'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { createRunClock } from './runClock.ts'

const minutesMs = 60_000

test('a jump of the wall by ten minutes, back or on, moves no run that is followed', () => {
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

test('a run that comes after a jump is taken up by the wall, as its start was', () => {
  const wall = createFakeClock(1_000_000)
  const clock = createRunClock(wall)
  clock.now('world', 'first')
  wall.jump(10 * minutesMs)
  expect(clock.now('world', 'second')).toBe(wall.now())
})

test('a process that starts takes every run up by the wall', () => {
  const wall = createFakeClock(1_000_000)
  createRunClock(wall).now('world', 'run')
  wall.advance(minutesMs)
  expect(createRunClock(wall).now('world', 'run')).toBe(wall.now())
})

test('a world that is gone is forgotten', () => {
  const wall = createFakeClock(1_000_000)
  const clock = createRunClock(wall)
  clock.now('world', 'run')
  wall.jump(minutesMs)
  clock.forget('world')
  expect(clock.now('world', 'run')).toBe(wall.now())
})
