import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { runQueue } from './worker.ts'

/** Runs a queue whose first item never ends. */
const runWithHungItem = () => {
  const clock = createFakeClock()
  const stopping = new AbortController()
  const errors: unknown[] = []
  const worked: string[] = []
  const due = ['hung', 'next']
  const ended = runQueue<string>(
    {
      claim: async (limit) => due.splice(0, limit),
      work: async (item) => {
        worked.push(item)
        if (item === 'hung') await new Promise(() => undefined)
      },
    },
    {
      concurrency: 1,
      leaseMs: 15_000,
      pollMs: 500,
      clock,
      log: { error: (fields: unknown) => errors.push(fields), warn: () => undefined },
      signal: stopping.signal,
    },
  )
  const advance = async (ms: number): Promise<void> => {
    await turn()
    clock.advance(ms)
    await turn()
  }
  return { advance, worked, errors, stop: () => stopping.abort(), ended }
}

test('frees the slot of an item at the end of its lease, and logs it once', async () => {
  const { advance, worked, errors, stop, ended } = runWithHungItem()
  await advance(14_999)
  expect(worked).toEqual(['hung'])
  await advance(1)
  expect(worked).toEqual(['hung', 'next'])
  expect(errors).toHaveLength(1)
  stop()
  await ended
})

test('ends no later than the lease of an item that never ends', async () => {
  const { advance, stop, ended } = runWithHungItem()
  await advance(1_000)
  stop()
  await advance(14_000)
  await ended
})
