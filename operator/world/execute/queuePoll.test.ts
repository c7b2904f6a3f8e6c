import { once } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import type { WorldQueue } from '#shared/resources/world.ts'
import { createFakeClock } from '#test/support/fakeClock.ts'
import type { PolledServer } from '../askedServer.ts'
import type { AskServer } from './askServer.ts'
import { createQueuePoll, type QueuePoll } from './queuePoll.ts'

let poll: QueuePoll | undefined
afterEach(() => poll?.close())

type Answer = WorldQueue | { readonly fault: string } | undefined | 'never'

/** Starts a poll of servers. The test sets the response of each address. */
const startPoll = (answers: Record<string, () => Answer>, parallel = 32, intervalMs = 5_000) => {
  const clock = createFakeClock()
  const asked: string[] = []
  const askedAtMs: number[] = []
  const changed: string[] = []
  const urgent: string[] = []
  const underWay = new Set<string>()
  let most = 0
  const ask: AskServer = async ({ host }, signal) => {
    asked.push(host)
    askedAtMs.push(clock.monotonic())
    expect(underWay, 'no server is asked twice at once').not.toContain(host)
    underWay.add(host)
    most = Math.max(most, underWay.size)
    const answer = answers[host]?.()
    if (answer === 'never') await once(signal, 'abort')
    underWay.delete(host)
    if (answer === 'never' || answer === undefined) return undefined
    if ('fault' in answer) return { kind: 'fault', fault: answer.fault }
    return { kind: 'report', report: { players: answer.active, queued: answer.queued } }
  }
  const made = createQueuePoll({
    ask,
    clock,
    random: () => 0,
    changed: (key, isUrgent) => {
      changed.push(key)
      if (isUrgent) urgent.push(key)
    },
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
  return { poll: made, clock, asked, askedAtMs, changed, urgent, advance, most: () => most }
}
const says = (active: number, queued: number) => (): WorldQueue => ({ active, queued })
const empty: WorldQueue = { active: 0, queued: 0 }
/** A server of which the status shows the queue, by default an empty one. */
const server = (host: string, podUid = 'pod', recorded: WorldQueue | undefined = empty): PolledServer => ({
  podUid,
  host,
  capacity: 30,
  query: { protocol: 'A2S', port: 27_015, timeoutMs: 2_000 },
  isAwaited: false,
  isDue: false,
  recorded,
})
/** A server that is Ready once it has answered. */
const awaited = (host: string): PolledServer => ({ ...server(host), recorded: undefined, isAwaited: true })
/** Returns addresses of as many servers. */
const hostsOf = (number: number, prefix = '10.0'): string[] =>
  Array.from({ length: number }, (_, at) => `${prefix}.${Math.floor(at / 250)}.${at % 250}`)
const queueOf = (active: number, queued: number) => ({ kind: 'answered', queue: { active, queued } })
const silence = {
  kind: 'unanswered',
  reason: 'NoAnswer',
  why: 'The server has not answered the query A2S at UDP port 27015 for 3 polls. Check runtime.query and that the server listens on that port.',
}

test('polls a server every five seconds and reports only changed numbers', async () => {
  let players = 0
  const { poll, asked, changed, advance } = startPoll({ '10.0.0.1': () => says(players, 0)() })
  poll.start('w', server('10.0.0.1'))
  await advance(10_000)
  expect(asked.length).toBeGreaterThanOrEqual(2)
  expect(asked.length).toBeLessThanOrEqual(3)
  expect(asked[0]).toBe('10.0.0.1')
  expect(changed).toEqual([])
  players = 7
  await advance(6_000)
  expect(changed).toEqual(['w'])
  expect(poll.report('w', 'pod')).toEqual(queueOf(7, 0))
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
  expect(poll.report('w', 'pod')).toEqual(queueOf(5, 0))
  await advance(11_000)
  expect(poll.report('w', 'pod')).toEqual(queueOf(6, 0))
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
  expect(poll.report('w', 'pod')).toEqual({ kind: 'answered', queue: then })
})

test.each<[string, () => Answer]>([
  ['gives no usable answer', () => undefined],
  ['never answers', () => 'never'],
  ['sends something else', () => ({ fault: 'is too short' })],
])('asks a server that %s at growing intervals of at most five minutes', async (_, answer) => {
  const { poll, asked, askedAtMs, changed, advance } = startPoll({ '10.0.0.1': answer })
  poll.start('w', server('10.0.0.1'))
  await advance(3_600_000)
  const waits = askedAtMs.slice(1).map((atMs, at) => Math.round((atMs - (askedAtMs[at] ?? 0)) / 5_000) * 5)
  expect(waits.slice(0, 6)).toEqual([5, 5, 20, 80, 300, 300])
  expect(asked.length).toBe(16)
  expect(changed).toEqual(['w'])
  expect(poll.report('w', 'pod')?.kind).toBe('unanswered')
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
    asked.slice(before).filter((host) => (host === '10.0.0.1') === (at === 0)),
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
  expect(asked.slice(before).filter((host) => host === '10.1.0.1')).toHaveLength(12)
})

test('reports after a restart only numbers that differ from the status', async () => {
  const { poll, changed, advance } = startPoll({ '10.0.0.1': says(3, 1), '10.0.0.2': says(0, 0) })
  poll.start('same', server('10.0.0.1', 'pod', { active: 3, queued: 1 }))
  poll.start('left', server('10.0.0.2', 'pod', { active: 3, queued: 1 }))
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

test('reports any first answer if the status shows no queue', async () => {
  const { poll, changed, urgent, advance } = startPoll({ '10.0.0.1': says(0, 0) })
  poll.start('w', { ...server('10.0.0.1'), recorded: undefined })
  await advance(1_000)
  expect([changed, urgent]).toEqual([['w'], []])
  expect(poll.report('w', 'pod')).toEqual(queueOf(0, 0))
})

test('keeps the last numbers of a server until three polls in a row got no usable answer', async () => {
  let answer: Answer = { active: 3, queued: 0 }
  const { poll, changed, advance } = startPoll({ '10.0.0.1': () => answer })
  poll.start('w', server('10.0.0.1'))
  await advance(500)
  for (const failure of [undefined, { fault: 'has 3 bytes' }]) {
    answer = failure
    await advance(10_000)
    answer = { active: 3, queued: 0 }
    await advance(10_000)
  }
  expect(changed).toEqual(['w'])
  answer = undefined
  await advance(15_500)
  expect(changed).toEqual(['w', 'w'])
  expect(poll.report('w', 'pod')).toEqual(silence)
  answer = { active: 3, queued: 0 }
  await advance(20_500)
  expect(changed).toEqual(['w', 'w', 'w'])
  expect(poll.report('w', 'pod')).toEqual(queueOf(3, 0))
})

test('says why answers are of no use, with the number of their protocol and port', async () => {
  let fault = 'has 3 bytes'
  const { poll, changed, advance } = startPoll({ '10.0.0.1': () => ({ fault }) })
  poll.start('w', server('10.0.0.1'))
  await advance(10_500)
  expect(poll.report('w', 'pod')).toMatchObject({
    reason: 'UnknownAnswer',
    why: 'The answer at UDP port 27015 is not one of A2S: it has 3 bytes. Check that runtime.query names the protocol that the server speaks at that port.',
  })
  fault = 'has 4 bytes'
  await advance(20_500)
  expect(poll.report('w', 'pod')).toMatchObject({ why: expect.stringContaining('has 4 bytes') })
  expect(changed).toEqual(['w', 'w'])
})

test('shows that a server reports more players than its world has room for', async () => {
  const { poll, advance } = startPoll({ '10.0.0.1': says(90, 0) })
  poll.start('w', server('10.0.0.1'))
  await advance(500)
  expect(poll.report('w', 'pod')).toEqual({ ...queueOf(30, 0), note: expect.stringContaining('90') })
})

test('asks an awaited server every second until it answers, reports that at once, and then asks it every five seconds', async () => {
  let answer: Answer
  const { poll, asked, changed, urgent, advance } = startPoll({ '10.0.0.1': () => answer })
  poll.start('w', awaited('10.0.0.1'))
  await advance(60_000)
  expect(asked.length).toBeGreaterThanOrEqual(48)
  expect(asked.length).toBeLessThanOrEqual(61)
  expect([changed, poll.report('w', 'pod')]).toEqual([['w'], silence])
  answer = { active: 0, queued: 0 }
  await advance(1_500)
  expect([changed, urgent]).toEqual([['w', 'w'], ['w']])
  expect(poll.report('w', 'pod')).toEqual(queueOf(0, 0))
  poll.start('w', { ...awaited('10.0.0.1'), isAwaited: false })
  const before = asked.length
  await advance(60_000)
  expect(asked.length - before).toBeLessThanOrEqual(12)
  expect(asked.length - before).toBeGreaterThanOrEqual(11)
  expect(urgent).toEqual(['w'])
})

test('asks a server that is not awaited any more every five seconds, and then less often', async () => {
  const { poll, asked, advance } = startPoll({})
  poll.start('w', awaited('10.0.0.1'))
  await advance(10_000)
  poll.start('w', { ...awaited('10.0.0.1'), isAwaited: false })
  const before = asked.length
  await advance(290_000)
  expect(asked.length - before).toBeLessThanOrEqual(4)
})

test('asks 1,000 awaited servers every five seconds, so that it sends 200 requests a second', async () => {
  const hosts = hostsOf(1_000)
  const { poll, asked, advance } = startPoll({})
  for (const host of hosts) poll.start(host, awaited(host))
  await advance(5_000)
  const before = asked.length
  await advance(20_000)
  expect(asked.length - before).toBeLessThanOrEqual(4 * hosts.length)
  expect(asked.length - before).toBeGreaterThanOrEqual(3.6 * hosts.length)
})

test('leaves half of the requests to servers that answer, and asks these every five seconds if that is enough', async () => {
  const waiting = hostsOf(2_000, '10.1')
  const hosts = hostsOf(500)
  const { poll, asked, advance } = startPoll(Object.fromEntries(hosts.map((host) => [host, says(0, 0)])))
  for (const host of hosts) poll.start(host, server(host))
  for (const host of waiting) poll.start(host, awaited(host))
  await advance(20_000)
  const before = asked.length
  await advance(40_000)
  const since = asked.slice(before)
  expect(since.filter((host) => host.startsWith('10.0.')).length).toBe(8 * hosts.length)
  expect(since.length).toBeLessThanOrEqual(40 * 200)
  expect(since.length).toBeGreaterThanOrEqual(40 * 180)
})

test('polls a server every five seconds beside 500 awaited ones that never answer', async () => {
  const waiting = hostsOf(500, '10.1')
  const answers = Object.fromEntries(waiting.map((host) => [host, () => 'never' as const]))
  const { poll, asked, advance, most } = startPoll({ ...answers, '10.0.0.1': says(0, 0) })
  for (const host of waiting) poll.start(host, awaited(host))
  poll.start('w', server('10.0.0.1'))
  await advance(60_000)
  expect(asked.filter((host) => host === '10.0.0.1').length).toBeGreaterThanOrEqual(11)
  expect(most()).toBeLessThanOrEqual(128 + 1)
})

describe('for the sleep of a world', () => {
  /** A server without a queue in its status, such as one of a world that may sleep. */
  const unrecorded: PolledServer = { ...server('10.0.0.1'), recorded: undefined }

  test('reports the first answer of this process, and the same ones after it not', async () => {
    const { poll, changed, advance } = startPoll({ '10.0.0.1': says(0, 0) })
    poll.start('w', unrecorded)
    await advance(600_000)
    expect(changed).toEqual(['w'])
    expect(poll.report('w', 'pod')).toEqual(queueOf(0, 0))
  })

  test('reports the next answer if the world may sleep since the poll began', async () => {
    const { poll, changed, advance } = startPoll({ '10.0.0.1': says(0, 0) })
    poll.start('w', server('10.0.0.1'))
    await advance(30_000)
    expect([changed, poll.report('w', 'pod')]).toEqual([[], undefined])
    poll.start('w', unrecorded)
    await advance(30_000)
    expect([changed, poll.report('w', 'pod')]).toEqual([['w'], queueOf(0, 0)])
  })

  test('reports each answer of a server that is due as urgent, and no silence', async () => {
    let answer: Answer = empty
    const { poll, changed, urgent, advance } = startPoll({ '10.0.0.1': () => answer })
    poll.start('w', unrecorded)
    await advance(30_000)
    poll.start('w', { ...unrecorded, isDue: true })
    await advance(5_000)
    expect(changed).toEqual(['w', 'w'])
    answer = undefined
    await advance(10_000)
    expect(changed).toEqual(['w', 'w'])
    answer = empty
    await advance(5_000)
    expect(changed).toEqual(['w', 'w', 'w'])
    expect(urgent).toEqual(['w', 'w'])
  })

  test('tells a player who came from nobody at once', async () => {
    let answer: Answer = empty
    const { poll, changed, advance } = startPoll({ '10.0.0.1': () => answer })
    poll.start('w', unrecorded)
    await advance(5_000)
    for (const queue of [
      { active: 1, queued: 0 },
      { active: 0, queued: 0 },
      { active: 0, queued: 1 },
    ]) {
      answer = queue
      await advance(5_500)
      expect(poll.report('w', 'pod')).toEqual({ kind: 'answered', queue })
    }
    expect(changed).toHaveLength(4)
  })

  test('tells at once that the counts of a server are impossible', async () => {
    let answer: Answer = empty
    const { poll, advance } = startPoll({ '10.0.0.1': () => answer })
    poll.start('w', unrecorded)
    await advance(5_000)
    answer = { active: -1, queued: 0 }
    await advance(5_500)
    expect(poll.report('w', 'pod')).toMatchObject({ ...queueOf(0, 0), isUncertain: true })
  })

  test('knows the age of the last answer, and none if the last poll was not answered or began before the world was due', async () => {
    let answer: Answer = empty
    const { poll, advance } = startPoll({ '10.0.0.1': () => answer })
    expect(poll.answerAgeMs('w', 'pod')).toBe(Number.POSITIVE_INFINITY)
    poll.start('w', unrecorded)
    await advance(23_000)
    poll.start('w', { ...unrecorded, isDue: true })
    expect(poll.answerAgeMs('w', 'pod')).toBe(Number.POSITIVE_INFINITY)
    await advance(23_000)
    expect(poll.answerAgeMs('w', 'pod')).toBeLessThanOrEqual(5_000)
    expect(poll.answerAgeMs('w', 'next pod')).toBe(Number.POSITIVE_INFINITY)
    answer = undefined
    await advance(5_000)
    expect(poll.report('w', 'pod')).toEqual(queueOf(0, 0))
    expect(poll.answerAgeMs('w', 'pod')).toBe(Number.POSITIVE_INFINITY)
  })
})
