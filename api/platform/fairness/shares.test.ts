import { expect, test } from 'vitest'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { createShares, type ShareLimits } from './shares.ts'

/** Starts actions that the test ends, and records their starts and results. */
const createTestShares = (limits: Partial<ShareLimits> = {}) => {
  const clock = createFakeClock()
  const run = createShares(clock, { maxConcurrent: 2, maxWaiting: 2, maxWaitMs: 1_000, ...limits })
  const ends = new Map<string, () => void>()
  const results: string[] = []
  const refuse = () => new Error('refused')
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  return {
    clock,
    results,
    settle,
    started: () => [...ends.keys()],
    start: async (group: string, name: string) => {
      const action = () => new Promise<void>((resolve) => ends.set(name, resolve))
      run(group, action, refuse).then(
        () => results.push(`${name} ended`),
        (error: Error) => results.push(`${name} ${error.message}`),
      )
      await settle()
    },
    end: async (name: string) => {
      ends.get(name)?.()
      await settle()
    },
  }
}

test('runs as many actions of a group as its limit, the others in order, and those of another group at once', async () => {
  const { start, end, started, results } = createTestShares()
  for (const name of ['a1', 'a2', 'a3', 'a4']) await start('a', name)
  await start('b', 'b1')
  expect(started()).toEqual(['a1', 'a2', 'b1'])
  await end('b1')
  await end('a2')
  expect(started()).toEqual(['a1', 'a2', 'b1', 'a3'])
  await end('a1')
  expect(started().at(-1)).toBe('a4')
  expect(results).toEqual(['b1 ended', 'a2 ended', 'a1 ended'])
})

test('refuses an action if too many wait, or after the longest wait', async () => {
  const { clock, start, end, started, results, settle } = createTestShares()
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) await start('a', name)
  expect(results).toEqual(['a5 refused'])
  clock.advance(1_000)
  await settle()
  expect(results.slice(1)).toEqual(['a3 refused', 'a4 refused'])
  await end('a1')
  await start('a', 'a6')
  expect(started()).toEqual(['a1', 'a2', 'a6'])
})

test('frees the slot of an action that fails', async () => {
  const run = createShares(createFakeClock(), { maxConcurrent: 1, maxWaiting: 0, maxWaitMs: 0 })
  const refuse = () => new Error('refused')
  await expect(run('a', () => Promise.reject(new Error('failed')), refuse)).rejects.toThrow('failed')
  expect(await run('a', async () => 1, refuse)).toBe(1)
})

test('divides the actions by the groups that are active, and leaves each one of its own', async () => {
  const { start, end, started, settle } = createTestShares({ maxConcurrent: 4, maxWaiting: 9 })
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) await start('a', name)
  for (const name of ['b1', 'b2', 'b3', 'c1']) await start(name.slice(0, 1), name)
  expect(started()).toEqual(['a1', 'a2', 'a3', 'a4', 'b1', 'c1'])
  // Three groups have one action each.
  for (const name of ['a1', 'a2', 'a3']) await end(name)
  expect(started().slice(6)).toEqual([])
  // Two groups have two actions each, and one group has four.
  await end('c1')
  expect(started().slice(6)).toEqual(['a5', 'b2'])
  for (const name of ['a4', 'a5']) await end(name)
  await settle()
  expect(started().slice(8)).toEqual(['b3'])
})

test('runs no more actions of all groups than the limit, and one of each group', async () => {
  const { start, started } = createTestShares({ maxConcurrent: 4 })
  for (const group of ['a', 'b', 'c', 'd', 'e']) for (const at of [1, 2, 3, 4, 5]) await start(group, `${group}${at}`)
  expect(started()).toEqual(['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'd1', 'e1'])
})
