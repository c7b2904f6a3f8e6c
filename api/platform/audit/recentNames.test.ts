import { expect, test } from 'vitest'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { createRecentNames } from './recentNames.ts'

test('remembers a name until the end of the minute', () => {
  const clock = createFakeClock()
  const names = createRecentNames(clock)
  names.add(['a', 'b'])
  clock.advance(59_999)
  expect([names.has(['a', 'b']), names.has(['ab']), names.has(['a'])]).toEqual([true, false, false])
  clock.advance(1)
  expect(names.has(['a', 'b'])).toBe(false)
})

test('remembers at most 50,000 names', () => {
  const names = createRecentNames(createFakeClock())
  for (let at = 0; at <= 50_000; at += 1) names.add([at])
  expect([names.has([49_999]), names.has([50_000])]).toEqual([true, false])
})
