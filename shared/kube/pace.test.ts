import { expect, test } from 'vitest'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { createPacedKeys } from './pace.ts'

test('keys of a namespace take turns at its rate, and do not wait for another namespace', () => {
  const clock = createFakeClock()
  const keys = createPacedKeys(clock, { burst: 2, refillMs: 100 })
  expect(['a/1', 'a/2', 'a/3', 'a/4', 'b/1'].map(keys.waitMs)).toEqual([0, 0, 100, 200, 0])
  clock.advance(100)
  expect(['a/4', 'a/3', 'a/5'].map(keys.waitMs)).toEqual([100, 0, 200])
})

test('a key keeps its turn however often it asks, so that 100 keys with 1,000 changes each have 10 turns a second', () => {
  const clock = createFakeClock()
  const keys = createPacedKeys(clock, { burst: 1, refillMs: 100 })
  let turns = 0
  for (let change = 0; change < 1_000; change += 1) {
    for (let at = 0; at < 100; at += 1) if (keys.waitMs(`a/${at}`) === 0) turns += 1
    clock.advance(10)
  }
  expect(turns).toBe(100)
})

test('a key that gave up its turn asks anew', () => {
  const clock = createFakeClock()
  const keys = createPacedKeys(clock, { burst: 1, refillMs: 100 })
  expect(['a/1', 'a/2'].map(keys.waitMs)).toEqual([0, 100])
  keys.forget('a/2')
  expect(keys.waitMs('a/2')).toBe(200)
})

test('rates that are full again are forgotten and those in use are not', () => {
  const clock = createFakeClock()
  const keys = createPacedKeys(clock, { burst: 1, refillMs: 100 })
  for (let at = 0; at < 3_000; at += 1) {
    keys.waitMs(`n${at}/1`)
    clock.advance(1)
  }
  expect(['n2999/2', 'n0/2'].map(keys.waitMs)).toEqual([99, 0])
})
