import { expect, test } from 'vitest'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { createVersions } from './versions.ts'

test('who waits for a version is let go once it or a newer one was seen, by number and not by letter', async () => {
  const clock = createFakeClock()
  const versions = createVersions(clock)
  versions.advance('99')
  const waiting = Promise.all([versions.waitFor('100', 1_000), versions.waitFor('101', 1_000)])
  versions.advance('1000')
  expect(await waiting).toEqual([true, true])
  expect(await versions.waitFor('1000', 0)).toBe(true)
  expect(clock.pending).toBe(0)
})

test('who waits too long is told so', async () => {
  const clock = createFakeClock()
  const waiting = createVersions(clock).waitFor('5', 1_000)
  clock.advance(1_000)
  expect(await waiting).toBe(false)
})

test('a version that is no number holds nobody up', async () => {
  const versions = createVersions(createFakeClock())
  expect(await versions.waitFor('', 1_000)).toBe(true)
  expect(await versions.waitFor('v-5', 1_000)).toBe(true)
})

test('a list takes the record back to where a restored server is', async () => {
  const clock = createFakeClock()
  const versions = createVersions(clock)
  versions.advance('1000')
  versions.reset('10')
  const waiting = versions.waitFor('11', 1_000)
  versions.advance('11')
  expect(await waiting).toBe(true)
})
