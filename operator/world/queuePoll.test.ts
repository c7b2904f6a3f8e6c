import { once } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import type { WorldQueue } from '#shared/resources/world.ts'
import { createFakeClock } from '#test/support/fakeClock.ts'
import type { AskServer } from './askServer.ts'
import { createQueuePoll, type QueuePoll } from './queuePoll.ts'

let poll: QueuePoll | undefined
afterEach(() => poll?.stop())

type Answer = WorldQueue | undefined | 'never'

/** A poll of servers whose answers the test decides, by the address that is asked. */
const aPoll = (answers: Record<string, () => Answer>, parallel = 32) => {
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
    const told = answer === 'never' ? await once(signal, 'abort').then(() => undefined) : answer
    underWay -= 1
    return told
  }
  const made = createQueuePoll({
    ...{ ask, clock, random: () => 0, changed: (key: string) => changed.push(key) },
    timing: { parallel, parallelRetries: 1 },
  })
  poll = made
  /** Lets time pass in steps, and all that follows from it happen. */
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 500) {
      clock.advance(500)
      for (let settled = 0; settled < 20; settled += 1) await turn()
    }
  }
  return { poll: made, asked, changed, pass, most: () => most }
}
const says = (active: number, queued: number) => (): WorldQueue => ({ active, queued })
const server = (host: string, podUid = 'pod') => ({ podUid, host, known: undefined })

test('a server is asked every five seconds, and only other numbers than before are told', async () => {
  let players = 0
  const { poll, asked, changed, pass } = aPoll({ '10.0.0.1': () => says(players, 0)() })
  poll.follow('w', server('10.0.0.1'))
  await pass(10_000)
  expect(asked.length).toBeGreaterThanOrEqual(2)
  expect(asked.length).toBeLessThanOrEqual(3)
  expect(asked[0]).toBe('http://10.0.0.1:8080/readyz')
  expect(changed).toEqual([])
  players = 7
  await pass(6_000)
  expect(changed).toEqual(['w'])
  expect(poll.report('w', 'pod')).toEqual({ active: 7, queued: 0 })
})

test('a server whose numbers never rest is told at most once in five seconds', async () => {
  let players = 0
  const busy = (): WorldQueue => {
    players += 1
    return says(players, 0)()
  }
  const { poll, changed, pass } = aPoll({ '10.0.0.1': busy })
  poll.follow('w', server('10.0.0.1'))
  await pass(60_000)
  expect(changed.length).toBeGreaterThan(9)
  expect(changed.length).toBeLessThanOrEqual(13)
})

test.each<[string, () => Answer]>([
  ['gives no usable answer', () => undefined],
  ['never answers', () => 'never'],
])(
  'a server that %s is asked ever more rarely, up to every five minutes, and tells nothing',
  async (_, answer) => {
    const { poll, asked, changed, pass } = aPoll({ '10.0.0.1': answer })
    poll.follow('w', server('10.0.0.1'))
    await pass(3_600_000)
    // 10, 20, 40, 80, 160 seconds, then every 300: an hour has 17 of them, and not the 720 of a server that answers.
    expect(asked.length).toBeLessThanOrEqual(19)
    expect(asked.length).toBeGreaterThanOrEqual(14)
    expect(changed).toEqual([])
  },
  60_000,
)

test('a server that answers again is asked every five seconds again', async () => {
  let isAway = true
  const { poll, asked, pass } = aPoll({ '10.0.0.1': () => (isAway ? undefined : says(0, 0)()) })
  poll.follow('w', server('10.0.0.1'))
  await pass(600_000)
  isAway = false
  await pass(300_000)
  const before = asked.length
  await pass(60_000)
  expect(asked.length - before).toBeGreaterThanOrEqual(10)
})

test('no more than so many are asked at a time, and silent ones do not keep the others waiting for long', async () => {
  const silent = Array.from({ length: 20 }, (_, at) => `10.0.1.${at}`)
  const answers = Object.fromEntries(silent.map((host) => [host, () => 'never' as const]))
  const { poll, pass, most, changed } = aPoll({ ...answers, '10.0.0.1': says(3, 1) }, 4)
  for (const host of silent) poll.follow(host, server(host))
  poll.follow('w', server('10.0.0.1'))
  await pass(20_000)
  expect(most()).toBeLessThanOrEqual(5)
  expect(changed).toEqual(['w'])
})

test('those that gave no answer wait for each other, and keep nobody else from being asked every five seconds', async () => {
  const silent = Array.from({ length: 60 }, (_, at) => `10.0.1.${at}`)
  const answers = Object.fromEntries(silent.map((host) => [host, () => 'never' as const]))
  const { poll, asked, pass } = aPoll({ ...answers, '10.0.0.1': says(0, 0) }, 60)
  for (const host of silent) poll.follow(host, server(host))
  await pass(15_000)
  poll.follow('w', server('10.0.0.1'))
  const before = asked.length
  await pass(60_000)
  const [answering, others] = [0, 0].map((_, at) =>
    asked.slice(before).filter((url) => url.includes('10.0.0.1:') === (at === 0)),
  )
  expect(answering?.length).toBeGreaterThanOrEqual(11)
  // One at a time, for two seconds each.
  expect(others?.length).toBeLessThanOrEqual(31)
})

test('what the status says already is not told again after a restart, and what changed meanwhile is', async () => {
  const { poll, changed, pass } = aPoll({ '10.0.0.1': says(3, 1), '10.0.0.2': says(0, 0) })
  poll.follow('same', { ...server('10.0.0.1'), known: { active: 3, queued: 1 } })
  poll.follow('left', { ...server('10.0.0.2'), known: { active: 3, queued: 1 } })
  await pass(1_000)
  expect(changed).toEqual(['left'])
})

test('numbers belong to the pod that reported them, and a world that is forgotten is not asked again', async () => {
  const { poll, asked, pass } = aPoll({ '10.0.0.1': says(3, 1) })
  poll.follow('w', server('10.0.0.1', 'one'))
  await pass(1_000)
  expect(poll.report('w', 'two')).toBeUndefined()
  poll.follow('w', server('10.0.0.1', 'two'))
  expect(poll.report('w', 'two')).toBeUndefined()
  poll.forget('w')
  const before = asked.length
  await pass(60_000)
  expect(asked.length).toBe(before)
})

test('an IPv6 address is asked as one', async () => {
  const { poll, asked, pass } = aPoll({ '[fd00::1]': says(0, 0) })
  poll.follow('w', server('fd00::1'))
  await pass(500)
  expect(asked).toEqual(['http://[fd00::1]:8080/readyz'])
})
