import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '#shared/clock.ts'
import type { SharedQueue } from '#shared/fairQueue.ts'
import { namespaceOfKey } from '#shared/kube/pace.ts'
import { createTurns } from '#shared/turns.ts'
import type { PolledServer } from '../askedServer.ts'
import type { QueryResult, ServerAnswer } from '../query/answer.ts'
import { toQueue } from '../query/queue.ts'
import { toUnanswered, unansweredPolls } from '../query/unanswered.ts'
import type { AskServer } from './askServer.ts'
import { createPollPace, type PollKind, type PollPace } from './pollPace.ts'
import { createSchedule } from './pollSchedule.ts'

/** Polls the queues of servers. */
export type QueuePoll = {
  /** Starts to poll a world's server. A poll of the same server continues, with the present expectations of its answer. */
  start(key: string, server: PolledServer): void
  stop(key: string): void
  /** Returns what the status is to show for that pod, if this process knows it yet. */
  report(key: string, podUid: string): QueryResult | undefined
  /** Returns the age of the answer to the last poll of that pod; infinite if it got none, or began before the world was due to sleep. */
  answerAgeMs(key: string, podUid: string): number
  /** Stops all polls for good. */
  close(): void
}

/** The timing of a poll, in milliseconds, and its limits. */
export type QueuePollTiming = PollPace & {
  /** The minimum time between two reports, unless users wait for one. */
  readonly writeMs: number
  /** The maximum number of concurrent requests, over all worlds. */
  readonly parallel: number
  /** The maximum number of concurrent requests to servers that did not respond to the last one. */
  readonly parallelRetries: number
  /** The maximum number of concurrent requests to awaited servers. Most of these wait for the whole timeout. */
  readonly parallelAwaited: number
}

const defaultTiming: QueuePollTiming = {
  intervalMs: 5_000,
  awaitedMs: 1_000,
  maxIntervalMs: 300_000,
  maxPerSecond: 200,
  maxRetriesPerSecond: 25,
  writeMs: 15_000,
  parallel: 32,
  parallelRetries: 4,
  parallelAwaited: 128,
}

type Expectations = Pick<PolledServer, 'isAwaited' | 'isDue' | 'recorded'>

type Polled = Omit<PolledServer, keyof Expectations> & {
  -readonly [Name in keyof Expectations]: Expectations[Name]
} & {
  readonly key: string
  kind: PollKind
  /** The number of polls in a row without a usable answer. */
  failures: number
  /** The last report, and its time. */
  reported: QueryResult | undefined
  reportedAtMs: number
  /** The time of the last poll's answer. Undefined if it got none, or began before the server was due. */
  answeredAtMs: number | undefined
  /** The slot of the next poll, which `createSchedule` sets. */
  slot: number
  /** Aborts the request in progress. */
  abort: AbortController | undefined
}

/**
 * Creates a poll that asks each server for its players. `changed` is called when the result differs from the last reported one: at
 * once for the first answer of an awaited server, when answers stop or come back, and if the world becomes or stops being
 * full or empty; otherwise at most once in `writeMs`. It is also called for each answer of a server that is due. The first answer of
 * an awaited server and those of a server that is due are urgent (`isUrgent`).
 */
export const createQueuePoll = (options: {
  ask: AskServer
  clock: Clock
  random: () => number
  changed: (key: string, isUrgent: boolean) => void
  timing?: Partial<QueuePollTiming>
}): QueuePoll => {
  const { clock, random } = options
  const timing = { ...defaultTiming, ...options.timing }
  const servers = new Map<string, Polled>()
  const pace = createPollPace(timing)
  const turns: Record<PollKind, ReturnType<typeof createPollTurns>> = {
    answering: createPollTurns('readiness polls', timing.parallel),
    silent: createPollTurns('readiness retries', timing.parallelRetries),
    awaited: createPollTurns('first polls', timing.parallelAwaited),
  }
  const schedule = createSchedule<Polled>(clock, (server) => {
    void turns[server.kind](namespaceOfKey(server.key), () => poll(server))
  })
  const isStopped = (server: Polled): boolean => servers.get(server.key) !== server
  const poll = async (server: Polled): Promise<void> => {
    if (isStopped(server)) return
    const abort = new AbortController()
    const timeout = clock.setTimeout(() => abort.abort(), server.query.timeoutMs)
    server.abort = abort
    // An answer that was under way when the server became due may be older than the edit that made it due.
    const wasDue = server.isDue
    const { protocol, port } = server.query
    const answer = await options.ask({ protocol, host: server.host, port }, abort.signal)
    timeout.cancel()
    server.abort = undefined
    if (isStopped(server)) return
    const result = toResult(server, answer)
    server.failures = result.kind === 'answered' ? 0 : server.failures + 1
    const isFirst = isAwaitedStill(server) && result.kind === 'answered'
    const isDue = wasDue && result.kind === 'answered'
    server.answeredAtMs = isDue ? clock.monotonic() : undefined
    const mayWait = clock.monotonic() - server.reportedAtMs < timing.writeMs
    const isNews = isFirst || isDue || isWorthReporting(server, result, mayWait)
    if (isNews) Object.assign(server, { reported: result, reportedAtMs: clock.monotonic() })
    pace.assign(server, kindOf(server))
    schedule.add(server, pace.delayMs(server))
    if (isNews) options.changed(server.key, isFirst || isDue)
  }
  const stop = (key: string): void => {
    const server = servers.get(key)
    if (server === undefined) return
    servers.delete(key)
    pace.remove(server)
    schedule.remove(server)
    server.abort?.abort()
  }
  return {
    start: (key, server) => {
      const present = servers.get(key)
      if (present?.podUid === server.podUid && present.host === server.host) {
        const { isAwaited, isDue, recorded } = server
        Object.assign(present, { isAwaited, isDue, recorded } satisfies Expectations)
        pace.assign(present, kindOf(present))
        return
      }
      stop(key)
      const unpolled = {
        failures: 0,
        reported: undefined,
        reportedAtMs: clock.monotonic(),
        answeredAtMs: undefined,
        slot: 0,
        abort: undefined,
      }
      const kind = server.isAwaited ? 'awaited' : 'answering'
      const polled: Polled = { ...server, ...unpolled, key, kind }
      servers.set(key, polled)
      pace.add(polled)
      // Polls that begin together, as after a restart, spread over the interval.
      schedule.add(polled, random() * pace.delayMs(polled))
    },
    stop,
    report: (key, podUid) => {
      const server = servers.get(key)
      return server?.podUid === podUid ? server.reported : undefined
    },
    answerAgeMs: (key, podUid) => {
      const server = servers.get(key)
      const atMs = server?.podUid === podUid ? server.answeredAtMs : undefined
      return clock.monotonic() - (atMs ?? Number.NEGATIVE_INFINITY)
    },
    close: () => {
      for (const key of [...servers.keys()]) stop(key)
    },
  }
}

const isAwaitedStill = ({ isAwaited, reported }: Polled): boolean => isAwaited && reported?.kind !== 'answered'

const kindOf = (server: Polled): PollKind => {
  if (isAwaitedStill(server)) return 'awaited'
  return server.failures === 0 ? 'answering' : 'silent'
}

const toResult = ({ query, capacity }: Polled, answer: ServerAnswer | undefined): QueryResult =>
  answer?.kind === 'report'
    ? { kind: 'answered', ...toQueue(answer.report, capacity) }
    : toUnanswered(query, answer?.fault)

/** Reports whether a result is to be reported now. If it `mayWait`, only a change that users wait for is. */
const isWorthReporting = (server: Polled, now: QueryResult, mayWait: boolean): boolean => {
  const { failures, reported, recorded, capacity } = server
  if (now.kind === 'unanswered' && failures < unansweredPolls) return false
  const last = reported ?? (recorded && { kind: 'answered', queue: recorded })
  if (last === undefined) return true
  if (isDeepStrictEqual(now, last)) return false
  return !mayWait || levelOf(now, capacity) !== levelOf(last, capacity)
}

/** Returns the level of a queue. A change of the level is reported at once, because users wait for it. */
const levelOf = (result: QueryResult, capacity: number): 'unknown' | 'empty' | 'open' | 'full' => {
  if (result.kind === 'unanswered') return 'unknown'
  const { active, queued } = result.queue
  if (active === 0 && queued === 0) return result.isUncertain ? 'unknown' : 'empty'
  return active >= capacity ? 'full' : 'open'
}

/** Runs polls in the turns of their namespaces. Each server waits at most once, so their number is the limit. */
const createPollTurns = (name: SharedQueue, slots: number) => {
  const unlimited = { maxWaiting: Number.POSITIVE_INFINITY, maxWaitingOfOne: Number.POSITIVE_INFINITY }
  const runInTurn = createTurns(name, { slots, reserve: Math.ceil(slots / 4), ...unlimited })
  return (namespace: string, poll: () => Promise<void>) => runInTurn(namespace, poll, () => new Error('too many polls'))
}
