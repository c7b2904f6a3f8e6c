import { expect, test } from 'vitest'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { createLargeReads } from './largeReads.ts'

/** Starts reads that the test ends, and records which have started and how the refused ones failed. */
const createTestReads = () => {
  const clock = createFakeClock()
  const run = createLargeReads(clock)
  const ends = new Map<string, () => void>()
  const refused: object[] = []
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  return {
    clock,
    refused,
    settle,
    started: () => [...ends.keys()],
    start: async (group: string, name: string) => {
      const read = () => new Promise<void>((resolve) => ends.set(name, resolve))
      run(group, read).catch((error: object) => refused.push(error))
      await settle()
    },
    end: async (name: string) => {
      ends.get(name)?.()
      await settle()
    },
  }
}

test('reads one large page of a group at a time, and two of all groups, which take turns', async () => {
  const { start, end, started } = createTestReads()
  for (const name of ['a1', 'a2', 'a3']) await start('a', name)
  await start('b', 'b1')
  await start('c', 'c1')
  expect(started()).toEqual(['a1', 'b1'])
  await end('a1')
  expect(started()).toEqual(['a1', 'b1', 'c1'])
  await end('b1')
  expect(started()).toEqual(['a1', 'b1', 'c1', 'a2'])
})

test('refuses a read at once while 16 of its group wait, and one that waits for 10 s', async () => {
  const { start, started, refused, clock, settle } = createTestReads()
  for (let at = 0; at < 17; at += 1) await start('a', `a${at}`)
  expect(refused).toEqual([])
  await start('a', 'a17')
  const retry = { headers: { 'retry-after': '2' } }
  expect(refused).toMatchObject([{ code: 'rate_limited', ...retry }])
  await start('b', 'b0')
  await start('c', 'c0')
  clock.advance(10_000)
  await settle()
  expect(refused.slice(1)).toHaveLength(17)
  expect(refused.at(-1)).toMatchObject({ code: 'unavailable', ...retry })
  expect(started()).toEqual(['a0', 'b0'])
})
