import { expect, test } from 'vitest'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { createVersions } from './versions.ts'

test('ends a wait when the same or a numerically higher version is seen', async () => {
  const clock = createFakeClock()
  const versions = createVersions(clock)
  versions.advance('99')
  const waiting = Promise.all([versions.waitFor('100', 1_000), versions.waitFor('101', 1_000)])
  versions.advance('1000')
  expect(await waiting).toEqual([true, true])
  expect(await versions.waitFor('1000', 0)).toBe(true)
  expect(clock.pending).toBe(0)
})

test('resolves a wait with false after its timeout', async () => {
  const clock = createFakeClock()
  const waiting = createVersions(clock).waitFor('5', 1_000)
  clock.advance(1_000)
  expect(await waiting).toBe(false)
})

test('resolves the waits with false at the end, and later ones at once', async () => {
  const clock = createFakeClock()
  const versions = createVersions(clock)
  const waiting = versions.waitFor('5', 1_000)
  versions.end()
  expect([await waiting, await versions.waitFor('6', 1_000)]).toEqual([false, false])
  expect(clock.pending).toBe(0)
})

test('does not wait for a version that is not a number', async () => {
  const versions = createVersions(createFakeClock())
  expect(await versions.waitFor('', 1_000)).toBe(true)
  expect(await versions.waitFor('v-5', 1_000)).toBe(true)
})

test('accepts the lower version of a list after the server was restored', async () => {
  const clock = createFakeClock()
  const versions = createVersions(clock)
  versions.advance('1000')
  versions.reset('10')
  const waiting = versions.waitFor('11', 1_000)
  versions.advance('11')
  expect(await waiting).toBe(true)
})
