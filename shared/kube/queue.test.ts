import { expect, test } from 'vitest'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { createQueue } from './queue.ts'

const aQueue = () => {
  const clock = createFakeClock()
  return { clock, queue: createQueue({ clock, backoff: { baseMs: 5, maxMs: 500 } }) }
}

/** Returns the keys that the queue hands out now, in order. */
const drain = async (queue: ReturnType<typeof aQueue>['queue']): Promise<string[]> => {
  const keys: string[] = []
  while (queue.depth() > 0) keys.push((await queue.get()) ?? '')
  for (const key of keys) queue.done(key)
  return keys
}

test('keys come out in the order in which they came in, each once', async () => {
  const { queue } = aQueue()
  for (const key of ['a', 'b', 'a', 'c', 'b']) queue.add(key)
  expect(await drain(queue)).toEqual(['a', 'b', 'c'])
})

test('keys of low priority wait for all others, and are raised when they are added again', async () => {
  const { queue } = aQueue()
  queue.add('low-1', { lowPriority: true })
  queue.add('low-2', { lowPriority: true })
  queue.add('high')
  queue.add('low-2')
  queue.add('high', { lowPriority: true })
  expect(await drain(queue)).toEqual(['high', 'low-2', 'low-1'])
})

test('a key that is added while it is worked on comes again once it is done, and only once', async () => {
  const { queue } = aQueue()
  queue.add('a')
  expect(await queue.get()).toBe('a')
  queue.add('a')
  queue.add('a', { lowPriority: true })
  expect(queue.depth()).toBe(0)
  queue.done('a')
  expect(await drain(queue)).toEqual(['a'])
  expect(queue.depth()).toBe(0)
})

test('a taker that waits gets the next key', async () => {
  const { queue } = aQueue()
  const taken = queue.get()
  queue.add('a')
  expect(await taken).toBe('a')
})

test('of two delays for a key the earlier counts', async () => {
  const { clock, queue } = aQueue()
  queue.addAfter('a', 1_000)
  queue.addAfter('a', 300)
  queue.addAfter('a', 700)
  clock.advance(299)
  expect(queue.depth()).toBe(0)
  clock.advance(1)
  expect(await drain(queue)).toEqual(['a'])
  clock.advance(10_000)
  expect(queue.depth()).toBe(0)
})

test('each failure doubles the wait up to the maximum, and forgetting begins anew', async () => {
  const { clock, queue } = aQueue()
  const waitMs = async (): Promise<number> => {
    queue.addRateLimited('a')
    const startedMs = clock.monotonic()
    while (queue.depth() === 0) clock.advance(1)
    await drain(queue)
    return clock.monotonic() - startedMs
  }
  const waits: number[] = []
  for (let failure = 0; failure < 9; failure += 1) waits.push(await waitMs())
  expect(waits).toEqual([5, 10, 20, 40, 80, 160, 320, 500, 500])
  queue.forget('a')
  expect(await waitMs()).toBe(5)
})

test('a shut down queue lets every taker go, keeps no timer and takes nothing more', async () => {
  const { clock, queue } = aQueue()
  const taken = queue.get()
  queue.addAfter('later', 100)
  queue.shutDown()
  queue.add('a')
  expect(await taken).toBeUndefined()
  expect(await queue.get()).toBeUndefined()
  expect(clock.pending).toBe(0)
})

test('ten thousand keys are handed out and added again without a key lost or doubled', async () => {
  const { queue } = aQueue()
  const keys = Array.from({ length: 10_000 }, (_, index) => `key-${index}`)
  for (const key of keys) queue.add(key, { lowPriority: true })
  expect(await drain(queue)).toEqual(keys)
})
