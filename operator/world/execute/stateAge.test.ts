import { expect, test } from 'vitest'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { createStateAge } from './stateAge.ts'

test('the age of a state counts from its first sight, per resource, and again after another state', () => {
  const clock = createFakeClock(0)
  const ageMs = createStateAge(clock)
  expect(ageMs('a', 'one')).toBe(0)
  clock.advance(1_000)
  expect([ageMs('a', 'one'), ageMs('b', 'one')]).toEqual([1_000, 0])
  expect(ageMs('a', 'two')).toBe(0)
  clock.advance(1_000)
  expect([ageMs('a', 'two'), ageMs('a', undefined), ageMs('a', 'two')]).toEqual([1_000, 0, 0])
})
