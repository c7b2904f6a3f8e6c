import { describe, expect, test } from 'vitest'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { maxChangesAtOnce, splitCrowd, type UnseenTransactions } from './pgSnapshot.ts'
import { type Change, type TailSession, tailChanges } from './tail.ts'

const change = (id: string): Change => ({
  organizationId: 'org-1',
  projectId: 'prj-1',
  worldId: '',
  type: 'liveConfig',
  id,
  userId: 'u',
  data: '{}',
  versionMs: 1,
  ageMs: 0,
})
type Polled = Awaited<ReturnType<TailSession['poll']>>
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }
const log = { ...quiet, child: () => log }

/** Starts a tail over fake sessions, whose responses the test sends. */
const startTail = ({ isWatched = true } = {}) => {
  const watched = new AbortController()
  if (isWatched) watched.abort()
  const clock = createFakeClock()
  let stalledMs = 0
  const stopping = new AbortController()
  const seen: string[] = []
  const sessions: { polls: UnseenTransactions[]; isClosed: boolean }[] = []
  let waiting: PromiseWithResolvers<Polled> | undefined
  const open = async (): Promise<TailSession> => {
    const session = { polls: [] as UnseenTransactions[], isClosed: false }
    sessions.push(session)
    return {
      begin: async () => '10:20:11,12',
      poll: (unseen) => {
        session.polls.push(unseen)
        waiting = Promise.withResolvers()
        return waiting.promise
      },
      close: async () => {
        session.isClosed = true
      },
    }
  }
  const running = tailChanges({
    open,
    log,
    signal: stopping.signal,
    untilWatched: () => watched.signal,
    onPoll: () => undefined,
    clock: { ...clock, monotonic: () => clock.monotonic() + stalledMs },
    publish: (changes) => void seen.push(...changes.map(({ id }) => id)),
    refresh: (of) => void seen.push(['refresh', ...(of === undefined ? [] : ['of', ...of])].join(' ')),
  })
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn += 1) await undefined
  }
  return {
    seen,
    sessions,
    settle,
    /** Opens the first connection. */
    watch: (): void => watched.abort(),
    answer: async (polled: Polled): Promise<void> => {
      await settle()
      waiting?.resolve(polled)
      await settle()
    },
    lose: async (): Promise<void> => {
      await settle()
      waiting?.reject(new Error('the session is lost'))
      await settle()
    },
    advance: async (ms: number): Promise<void> => {
      await settle()
      clock.advance(ms)
      await settle()
    },
    /** Simulates a suspended process: time passes, and no timer fires. */
    stall: (ms: number): void => {
      stalledMs += ms
    },
    stop: async (): Promise<void> => {
      stopping.abort()
      waiting?.reject(new Error('stopped'))
      await running
    },
  }
}

describe('the tail', () => {
  test('reads all topics after the first pg_snapshot and then polls for unseen transactions', async () => {
    const tail = startTail()
    await tail.answer({ snapshot: '12:30:13', changes: [change('a'), change('b')] })
    expect(tail.seen).toEqual(['refresh', 'a', 'b'])
    await tail.advance(5)
    await tail.answer({ snapshot: '30:30:', changes: [] })
    expect(tail.sessions.map(({ polls }) => polls)).toEqual([
      [
        { xmax: '20', inProgress: ['11', '12'] },
        { xmax: '30', inProgress: ['13'] },
      ],
    ])
    await tail.stop()
    expect(tail.sessions[0]?.isClosed).toBe(true)
  })

  test('polls 200 times a second during changes and 20 times a second otherwise', async () => {
    const tail = startTail()
    const polls = () => tail.sessions[0]?.polls.length
    await tail.answer({ snapshot: '30:30:', changes: [change('a')] })
    await tail.advance(5)
    expect(polls()).toBe(2)
    await tail.advance(1_000)
    await tail.answer({ snapshot: '30:30:', changes: [] })
    await tail.advance(49)
    expect(polls()).toBe(2)
    await tail.advance(1)
    expect(polls()).toBe(3)
    await tail.stop()
  })

  test('polls 20 times a second while only counts change', async () => {
    const tail = startTail()
    const polls = () => tail.sessions[0]?.polls.length
    await tail.answer({ snapshot: '30:30:', changes: [] })
    await tail.advance(1_000)
    for (let polled = 2; polled < 6; polled += 1) {
      await tail.answer({ snapshot: '30:30:', changes: [{ ...change('a'), type: 'worldCounts' }] })
      await tail.advance(49)
      expect(polls()).toBe(polled)
      await tail.advance(1)
    }
    expect(tail.seen).toEqual(['refresh', 'a', 'a', 'a', 'a'])
    await tail.stop()
  })

  test('polls less often without connections, and at once when the first one opens', async () => {
    const tail = startTail({ isWatched: false })
    const polls = () => tail.sessions[0]?.polls.length
    await tail.answer({ snapshot: '30:30:', changes: [change('a')] })
    expect(tail.seen).toEqual(['refresh', 'a'])
    await tail.advance(5)
    await tail.advance(249)
    expect(polls()).toBe(1)
    await tail.advance(1)
    expect(polls()).toBe(2)
    await tail.answer({ snapshot: '30:30:', changes: [] })
    await tail.advance(5)
    tail.watch()
    await tail.settle()
    expect(polls()).toBe(3)
    await tail.stop()
  })

  test('reads all topics again after a lost session', async () => {
    const tail = startTail()
    await tail.answer({ snapshot: '40:50:', changes: [change('a')] })
    await tail.advance(5)
    await tail.lose()
    expect(tail.sessions[0]?.isClosed).toBe(true)
    await tail.advance(250)
    await tail.answer({ snapshot: '20:20:', changes: [change('b')] })
    expect(tail.seen).toEqual(['refresh', 'a', 'refresh', 'b'])
    expect(tail.sessions[1]?.polls).toEqual([{ xmax: '20', inProgress: ['11', '12'] }])
    await tail.stop()
  })

  test('treats a session without response for ten seconds as lost and ignores its late response', async () => {
    const tail = startTail()
    await tail.advance(9_999)
    expect(tail.sessions).toHaveLength(1)
    await tail.advance(1)
    await tail.answer({ snapshot: '30:30:', changes: [change('late')] })
    await tail.advance(250)
    expect(tail.sessions).toHaveLength(2)
    expect(tail.seen).toEqual(['refresh', 'refresh'])
    await tail.stop()
  })

  test('reads the topics of organizations with too many changes, and delivers the changes of others', async () => {
    const tail = startTail()
    await tail.answer({ snapshot: '30:30:', changes: [change('of another')], crowded: ['org-2'] })
    await tail.advance(5)
    await tail.answer({ snapshot: '31:31:', changes: [change('next')] })
    expect(tail.seen).toEqual(['refresh', 'of another', 'refresh of org-2', 'next'])
    await tail.stop()
  })

  test('reads all topics after a pause of more than a minute', async () => {
    const tail = startTail()
    await tail.answer({ snapshot: '30:30:', changes: [] })
    tail.stall(59_000)
    await tail.advance(50)
    await tail.answer({ snapshot: '31:31:', changes: [change('a')] })
    tail.stall(61_000)
    await tail.advance(5)
    await tail.answer({ snapshot: '32:32:', changes: [change('b')] })
    expect(tail.seen).toEqual(['refresh', 'a', 'refresh'])
    await tail.stop()
  })
})

test('delivers the changes of the organizations that have the fewest', () => {
  const counts = { a: maxChangesAtOnce, b: 1, c: maxChangesAtOnce - 2, d: 1 }
  expect(splitCrowd(counts)).toEqual({ told: ['b', 'd', 'c'], crowded: ['a'] })
  expect(splitCrowd({ a: maxChangesAtOnce })).toEqual({ told: ['a'], crowded: [] })
})
