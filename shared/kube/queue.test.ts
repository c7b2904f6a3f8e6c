import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { createQueue } from './queue.ts'

const createTestQueue = () => {
  const clock = createFakeClock()
  return { clock, queue: createQueue({ clock, backoff: { baseMs: 5, maxMs: 500 } }) }
}

/** Returns the keys that the queue hands out now, in order. */
const drain = async (queue: ReturnType<typeof createTestQueue>['queue']): Promise<string[]> => {
  const keys: string[] = []
  while (queue.depth() > 0) keys.push((await queue.get()) ?? '')
  for (const key of keys) queue.done(key)
  return keys
}

test('returns keys in the order of their addition, each once', async () => {
  const { queue } = createTestQueue()
  for (const key of ['a', 'b', 'a', 'c', 'b']) queue.add(key)
  expect(await drain(queue)).toEqual(['a', 'b', 'c'])
})

test('returns a key with the highest of the priorities that it was added with', async () => {
  const { queue } = createTestQueue()
  queue.add('a', { priority: 'low' })
  queue.add('b', { priority: 'low' })
  queue.add('c')
  queue.add('b', { priority: 'high' })
  queue.add('c', { priority: 'low' })
  expect(await drain(queue)).toEqual(['b', 'c', 'a'])
})

test('returns a key once more if it is added while it is processed', async () => {
  const { queue } = createTestQueue()
  queue.add('a')
  expect(await queue.get()).toBe('a')
  queue.add('a')
  queue.add('a', { priority: 'low' })
  expect(queue.depth()).toBe(0)
  queue.done('a')
  expect(await drain(queue)).toEqual(['a'])
  expect(queue.depth()).toBe(0)
})

test('gives the next key to a waiting caller', async () => {
  const { queue } = createTestQueue()
  const taken = queue.get()
  queue.add('a')
  expect(await taken).toBe('a')
})

test('uses the earliest of several delays of a key', async () => {
  const { clock, queue } = createTestQueue()
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

test('drops the delay of a key that it returns, and keeps a delay that is set while the key is processed', async () => {
  const { clock, queue } = createTestQueue()
  queue.addAfter('a', 1_000)
  queue.addRateLimited('a')
  queue.add('a')
  expect(await queue.get()).toBe('a')
  expect(clock.pending).toBe(0)
  queue.addAfter('a', 2_000)
  queue.done('a')
  clock.advance(1_999)
  expect(queue.depth()).toBe(0)
  clock.advance(1)
  expect(await drain(queue)).toEqual(['a'])
})

test('returns a delayed key with its priority, by default normal', async () => {
  const { clock, queue } = createTestQueue()
  queue.addAfter('low', 100, { priority: 'low' })
  queue.addAfter('normal', 100)
  queue.addAfter('high', 100, { priority: 'high' })
  clock.advance(100)
  expect(await drain(queue)).toEqual(['high', 'normal', 'low'])
})

test('doubles the delay with each failure up to the maximum, and forget resets it', async () => {
  const { clock, queue } = createTestQueue()
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

test('releases waiting callers on shutdown, clears its timers and accepts no more keys', async () => {
  const { clock, queue } = createTestQueue()
  const taken = queue.get()
  queue.addAfter('later', 100)
  queue.shutDown()
  queue.add('a')
  expect(await taken).toBeUndefined()
  expect(await queue.get()).toBeUndefined()
  expect(clock.pending).toBe(0)
})

test('returns ten thousand keys in order, each once', async () => {
  const { queue } = createTestQueue()
  const keys = Array.from({ length: 10_000 }, (_, index) => `key-${index}`)
  for (const key of keys) queue.add(key, { priority: 'low' })
  expect(await drain(queue)).toEqual(keys)
})

test('returns keys of each priority in turn, so that no key waits for ever', async () => {
  const { queue } = createTestQueue()
  const taken: string[] = []
  for (let index = 0; index < 100; index += 1) {
    queue.add(`high-${index}`, { priority: 'high' })
    queue.add(`normal-${index}`)
    queue.add(`low-${index}`, { priority: 'low' })
  }
  for (let index = 0; index < 90; index += 1) taken.push((await queue.get()) ?? '')
  const countOf = (priority: string): number => taken.filter((key) => key.startsWith(priority)).length
  expect([countOf('high'), countOf('normal'), countOf('low')]).toEqual([40, 40, 10])
})

describe('with 5,000 worlds whose numbers of players change all the time', () => {
  /** 16 workers that need 50 ms for each key, 320 keys a second, and 1,000 changes a second. */
  const aBusyQueue = () => {
    const { clock, queue } = createTestQueue()
    const doneAtMs = new Map<string, number>()
    const work = async (): Promise<void> => {
      for (let key = await queue.get(); key !== undefined; key = await queue.get()) {
        await new Promise<void>((resolve) => void clock.setTimeout(resolve, 50))
        doneAtMs.set(key, clock.monotonic())
        queue.done(key)
      }
    }
    for (let worker = 0; worker < 16; worker += 1) void work()
    let next = 0
    const pass = async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += 10) {
        for (let change = 0; change < 10; change += 1, next += 1) {
          queue.add(`world-${next % 5_000}`, { priority: 'low' })
        }
        clock.advance(10)
        await turn()
      }
    }
    return { clock, queue, doneAtMs, pass }
  }

  test('reconciles a world whose server crashed, or whose spec changed, within 150 ms', async () => {
    const { clock, queue, doneAtMs, pass } = aBusyQueue()
    await pass(5_000)
    const since = clock.monotonic()
    queue.add('crashed')
    queue.add('edited', { priority: 'high' })
    await pass(500)
    expect((doneAtMs.get('crashed') ?? Number.POSITIVE_INFINITY) - since).toBeLessThanOrEqual(150)
    expect((doneAtMs.get('edited') ?? Number.POSITIVE_INFINITY) - since).toBeLessThanOrEqual(150)
    queue.shutDown()
  })

  test('reconciles a world that waits for its turn at once when its server crashes', async () => {
    const { clock, queue, doneAtMs, pass } = aBusyQueue()
    await pass(5_000)
    queue.add('world-4999', { priority: 'low' })
    const since = clock.monotonic()
    queue.add('world-4999')
    await pass(500)
    expect((doneAtMs.get('world-4999') ?? 0) - since).toBeGreaterThan(0)
    expect((doneAtMs.get('world-4999') ?? 0) - since).toBeLessThanOrEqual(150)
    queue.shutDown()
  })

  test('writes the numbers of each world within 20 seconds', async () => {
    const { doneAtMs, queue, pass } = aBusyQueue()
    await pass(20_000)
    expect(doneAtMs.size).toBe(5_000)
    queue.shutDown()
  })
})

describe('turns', () => {
  const createSharedQueue = (options: { reserve?: number; pace?: { burst: number; refillMs: number } } = {}) => {
    const clock = createFakeClock()
    return { clock, queue: createQueue({ clock, backoff: { baseMs: 5, maxMs: 500 }, ...options }) }
  }

  test('returns the keys of namespaces in turn, within each priority', async () => {
    const { queue } = createSharedQueue()
    for (const key of ['a/1', 'a/2', 'a/3', 'b/1']) queue.add(key)
    for (const key of ['a/4', 'a/5', 'b/2']) queue.add(key, { priority: 'high' })
    expect((await drain(queue)).filter((key) => key.startsWith('b'))).toEqual(['b/2', 'b/1'])
    for (const key of ['a/1', 'a/2', 'a/3', 'b/1', 'c/1', 'b/2']) queue.add(key)
    expect(await drain(queue)).toEqual(['a/1', 'b/1', 'c/1', 'a/2', 'b/2', 'a/3'])
  })

  test('a namespace with 10,000 keys delays a key of another by one key', async () => {
    const { queue } = createSharedQueue()
    for (let at = 0; at < 10_000; at += 1) queue.add(`a/${at}`)
    expect(await queue.get()).toBe('a/0')
    queue.add('b/1')
    expect([await queue.get(), await queue.get()]).toEqual(['a/1', 'b/1'])
  })

  test('keeps the last free workers for namespaces without a key in processing', async () => {
    const { queue } = createSharedQueue({ reserve: 1 })
    const taken: (string | undefined)[] = []
    const work = () => void queue.get().then((key) => taken.push(key))
    for (let worker = 0; worker < 3; worker += 1) work()
    for (const key of ['a/1', 'a/2', 'a/3']) queue.add(key)
    await turn()
    expect(taken).toEqual(['a/1', 'a/2'])
    queue.add('b/1')
    await turn()
    expect(taken).toEqual(['a/1', 'a/2', 'b/1'])
    queue.done('a/1')
    work()
    await turn()
    expect(taken).toHaveLength(3)
    queue.done('a/2')
    await turn()
    expect(taken).toEqual(['a/1', 'a/2', 'b/1', 'a/3'])
  })

  test('a key that is added without pause is returned in a burst, and then at its pace', async () => {
    const { clock, queue } = createSharedQueue({ pace: { burst: 3, refillMs: 500 } })
    const times: number[] = []
    for (let ms = 0; ms <= 3_000; ms += 10) {
      queue.add('a/1')
      if (queue.depth() > 0) {
        queue.done((await queue.get()) ?? '')
        times.push(clock.monotonic())
      }
      clock.advance(10)
    }
    expect(times).toEqual([0, 10, 20, 500, 1_000, 1_500, 2_000, 2_500, 3_000])
    queue.add('a/2')
    expect(await queue.get()).toBe('a/2')
  })

  test('a key that is added while it is processed keeps its pace and its priority', async () => {
    const { clock, queue } = createSharedQueue({ pace: { burst: 1, refillMs: 500 } })
    queue.add('a/1')
    queue.add('a/1')
    queue.add('a/2')
    expect([await queue.get(), await queue.get()]).toEqual(['a/1', 'a/2'])
    queue.add('a/1', { priority: 'low' })
    queue.add('a/2', { priority: 'high' })
    queue.done('a/1')
    queue.done('a/2')
    expect(queue.depth()).toBe(0)
    clock.advance(500)
    expect(await drain(queue)).toEqual(['a/2', 'a/1'])
  })
})
