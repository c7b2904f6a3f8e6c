import { once } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import type { WorldQueue } from '#shared/resources/world.ts'
import { createFakeClock } from '#test/support/fakeClock.ts'
import type { AskServer } from './askServer.ts'
import { createQueuePoll, type QueuePoll } from './queuePoll.ts'

let poll: QueuePoll | undefined
afterEach(() => poll?.close())

type Answer = WorldQueue | undefined | 'never'

/** Starts a poll of servers. The test sets the response of each address. */
const startPoll = (answers: Record<string, () => Answer>, parallel = 32, intervalMs = 5_000) => {
  const clock = createFakeClock()
  const asked: string[] = []
  const changed: string[] = []
  let underWay = 0
  let most = 0
  const ask: AskServer = async (url, signal) => {
    asked.push(url)
    underWay += 1
    most = Math.max(most, underWay)
    const answer = answers[new URL(url).hostname]?.()
    const result = answer === 'never' ? await once(signal, 'abort').then(() => undefined) : answer
    underWay -= 1
    return result
  }
  const made = createQueuePoll({
    ask,
    clock,
    random: () => 0,
    changed: (key: string) => changed.push(key),
    timing: { intervalMs, parallel, parallelRetries: 1 },
  })
  poll = made
  /** Advances the clock in steps and runs everything that is due. */
  const advance = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 500) {
      clock.advance(500)
      for (let settled = 0; settled < 20; settled += 1) await turn()
    }
  }
  return { poll: made, clock, asked, changed, advance, most: () => most }
}
const says = (active: number, queued: number) => (): WorldQueue => ({ active, queued })
const server = (host: string, podUid = 'pod') => ({ podUid, host, capacity: 30, recorded: undefined })

test('polls a server every five seconds and reports only changed numbers', async () => {
  let players = 0
  const { poll, asked, changed, advance } = startPoll({ '10.0.0.1': () => says(players, 0)() })
  poll.start('w', server('10.0.0.1'))
  await advance(10_000)
  expect(asked.length).toBeGreaterThanOrEqual(2)
  expect(asked.length).toBeLessThanOrEqual(3)
  expect(asked[0]).toBe('http://10.0.0.1:8080/readyz')
  expect(changed).toEqual([])
  players = 7
  await advance(6_000)
  expect(changed).toEqual(['w'])
  expect(poll.report('w', 'pod')).toEqual({ active: 7, queued: 0 })
})

test('reports a server whose numbers always change at most once in 15 seconds', async () => {
  let players = 0
  const busy = (): WorldQueue => {
    players += 1
    return says(players, 0)()
  }
  const { poll, changed, advance } = startPoll({ '10.0.0.1': busy })
  poll.start('w', server('10.0.0.1'))
  await advance(60_000)
  expect(changed.length).toBeGreaterThanOrEqual(4)
  expect(changed.length).toBeLessThanOrEqual(5)
})

test('reports the last numbers of a server, even if they do not change again', async () => {
  let players = 5
  const { poll, advance } = startPoll({ '10.0.0.1': () => says(players, 0)() })
  poll.start('w', server('10.0.0.1'))
  await advance(5_000)
  players = 6
  await advance(5_000)
  expect(poll.report('w', 'pod')).toEqual({ active: 5, queued: 0 })
  await advance(11_000)
  expect(poll.report('w', 'pod')).toEqual({ active: 6, queued: 0 })
})

test.each<[string, WorldQueue]>([
  ['is full', { active: 30, queued: 0 }],
  ['is full and has a queue', { active: 30, queued: 4 }],
  ['is empty', { active: 0, queued: 0 }],
])('reports at once that a server %s', async (_, then) => {
  let now: WorldQueue = { active: 20, queued: 0 }
  const { poll, advance } = startPoll({ '10.0.0.1': () => now })
  poll.start('w', server('10.0.0.1'))
  await advance(5_000)
  now = then
  await advance(5_500)
  expect(poll.report('w', 'pod')).toEqual(then)
})

test.each<[string, () => Answer]>([
  ['gives no usable answer', () => undefined],
  ['never answers', () => 'never'],
])('asks a server that %s at growing intervals of at most five minutes', async (_, answer) => {
  const { poll, asked, changed, advance } = startPoll({ '10.0.0.1': answer })
  poll.start('w', server('10.0.0.1'))
  await advance(3_600_000)
  // Backoffs of 20 and 80 seconds, then of 300: 14 requests in an hour, instead of the 720 of a server that answers.
  expect(asked.length).toBeLessThanOrEqual(15)
  expect(asked.length).toBeGreaterThanOrEqual(13)
  expect(changed).toEqual([])
})

test.each<[string, () => Answer]>([
  ['responds', says(1, 0)],
  ['does not respond', () => undefined],
])('polls a server that %s once an hour if that is the interval', async (_, answer) => {
  const { poll, asked, advance } = startPoll({ '10.0.0.1': answer }, 32, 3_600_000)
  poll.start('w', server('10.0.0.1'))
  await advance(3 * 3_600_000 - 1_000)
  expect(asked).toHaveLength(3)
})

test('polls a server every five seconds again once it responds', async () => {
  let isAway = true
  const { poll, asked, advance } = startPoll({ '10.0.0.1': () => (isAway ? undefined : says(0, 0)()) })
  poll.start('w', server('10.0.0.1'))
  await advance(600_000)
  isAway = false
  await advance(300_000)
  const before = asked.length
  await advance(60_000)
  expect(asked.length - before).toBeGreaterThanOrEqual(10)
})

test('limits parallel requests, and bounds the delay that silent servers cause to others', async () => {
  const silent = Array.from({ length: 20 }, (_, at) => `10.0.1.${at}`)
  const answers = Object.fromEntries(silent.map((host) => [host, () => 'never' as const]))
  const { poll, advance, most, changed } = startPoll({ ...answers, '10.0.0.1': says(3, 1) }, 4)
  for (const host of silent) poll.start(host, server(host))
  poll.start('w', server('10.0.0.1'))
  await advance(20_000)
  expect(most()).toBeLessThanOrEqual(5)
  expect(changed).toEqual(['w'])
})

test('retries silent servers separately, so that others are still polled every five seconds', async () => {
  const silent = Array.from({ length: 60 }, (_, at) => `10.0.1.${at}`)
  const answers = Object.fromEntries(silent.map((host) => [host, () => 'never' as const]))
  const { poll, asked, advance } = startPoll({ ...answers, '10.0.0.1': says(0, 0) }, 60)
  for (const host of silent) poll.start(host, server(host))
  await advance(15_000)
  poll.start('w', server('10.0.0.1'))
  const before = asked.length
  await advance(60_000)
  const [answering, others] = [0, 0].map((_, at) =>
    asked.slice(before).filter((url) => url.includes('10.0.0.1:') === (at === 0)),
  )
  expect(answering?.length).toBeGreaterThanOrEqual(11)
  // Retries run one at a time, for two seconds each.
  expect(others?.length).toBeLessThanOrEqual(31)
})

test('polls 2,000 servers every ten seconds, so that it sends 200 requests a second', async () => {
  const hosts = Array.from({ length: 2_000 }, (_, at) => `10.0.${Math.floor(at / 250)}.${at % 250}`)
  const { poll, asked, advance } = startPoll(Object.fromEntries(hosts.map((host) => [host, says(0, 0)])))
  for (const host of hosts) poll.start(host, server(host))
  await advance(1_000)
  const before = asked.length
  await advance(60_000)
  expect(asked.length - before).toBe(6 * hosts.length)
  for (const host of hosts.slice(500)) poll.stop(host)
  await advance(20_000)
  const withFewer = asked.length
  await advance(60_000)
  expect(asked.length - withFewer).toBe(12 * 500)
})

test('polls 10,000 servers that do not respond every 400 seconds, so that it sends 25 requests a second', async () => {
  const hosts = Array.from({ length: 10_000 }, (_, at) => `10.${Math.floor(at / 250)}.0.${at % 250}`)
  const { poll, asked, advance } = startPoll({})
  for (const host of hosts) poll.start(host, server(host))
  await advance(1_000)
  const before = asked.length
  await advance(400_000)
  expect(asked.length - before).toBe(hosts.length)
})

test('polls a server every five seconds beside 2,000 that do not respond', async () => {
  const silent = Array.from({ length: 2_000 }, (_, at) => `10.0.${Math.floor(at / 250)}.${at % 250}`)
  const { poll, asked, advance } = startPoll({ '10.1.0.1': says(0, 0) })
  for (const host of silent) poll.start(host, server(host))
  poll.start('w', server('10.1.0.1'))
  await advance(60_000)
  const before = asked.length
  await advance(60_000)
  expect(asked.slice(before).filter((url) => url.includes('//10.1.0.1:'))).toHaveLength(12)
})

test('reports after a restart only numbers that differ from the status', async () => {
  const { poll, changed, advance } = startPoll({ '10.0.0.1': says(3, 1), '10.0.0.2': says(0, 0) })
  poll.start('same', { ...server('10.0.0.1'), recorded: { active: 3, queued: 1 } })
  poll.start('left', { ...server('10.0.0.2'), recorded: { active: 3, queued: 1 } })
  await advance(1_000)
  expect(changed).toEqual(['left'])
})

test('separates the reports of different pods, and stops polling a stopped world', async () => {
  const { poll, asked, advance } = startPoll({ '10.0.0.1': says(3, 1) })
  poll.start('w', server('10.0.0.1', 'one'))
  await advance(1_000)
  expect(poll.report('w', 'two')).toBeUndefined()
  poll.start('w', server('10.0.0.1', 'two'))
  expect(poll.report('w', 'two')).toBeUndefined()
  poll.stop('w')
  const before = asked.length
  await advance(60_000)
  expect(asked.length).toBe(before)
})

test('shares timers between servers, and leaves none when the last server is stopped', async () => {
  const hosts = Array.from({ length: 100 }, (_, at) => `10.0.0.${at}`)
  const { poll, clock, advance } = startPoll(Object.fromEntries(hosts.map((host) => [host, says(0, 0)])))
  for (const host of hosts) poll.start(host, server(host))
  await advance(60_000)
  expect(clock.pending).toBe(1)
  for (const host of hosts) poll.stop(host)
  expect(clock.pending).toBe(0)
})

test('puts an IPv6 address in brackets', async () => {
  const { poll, asked, advance } = startPoll({ '[fd00::1]': says(0, 0) })
  poll.start('w', server('fd00::1'))
  await advance(500)
  expect(asked).toEqual(['http://[fd00::1]:8080/readyz'])
})
