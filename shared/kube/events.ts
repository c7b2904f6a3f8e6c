import { type Clock, sleep } from '#shared/clock.ts'
import { createFairQueue } from '#shared/fairQueue.ts'
import type { Client, ObjectInput, Resource } from './client.ts'
import { isNotFound } from './errors.ts'
import { microTime } from './lease.ts'
import type { KubeLog } from './log.ts'
import type { EventMetrics } from './metrics.ts'
import type { KubeObject } from './objects.ts'

/** An event to report about an object. */
export type EventInput = {
  readonly type: 'Normal' | 'Warning'
  /** The kind of event in one CamelCase word. */
  readonly reason: string
  /** The action that led to it in one CamelCase word. */
  readonly action: string
  /** Details for people in one sentence. */
  readonly note: string
}

/** Records events of objects, which kubectl describe shows. */
export type EventRecorder = {
  /** Queues the event and returns at once. Repeated events form a series; events beyond the limits are dropped. Never throws. */
  record(regarding: KubeObject, event: EventInput): void
  /**
   * Writes recorded events until the signal aborts, more of them per second while `isBusy` returns false. Events that are still
   * queued then are lost.
   */
  run(signal: AbortSignal, isBusy?: () => boolean): Promise<void>
}

/** The Event resource. */
export const eventResource: Resource = { group: 'events.k8s.io', version: 'v1', plural: 'events', kind: 'Event' }

/** The limits of a recorder. */
export type EventLimits = {
  /** Events that can wait to be written, of all namespaces and of one. Further ones are dropped. */
  readonly queued: number
  readonly queuedOfOne: number
  /** Series that are remembered. The least recently updated one is forgotten first. */
  readonly series: number
  /** Token bucket for writes: its size, and the milliseconds until a token is refilled while the process is busy or idle. */
  readonly burst: number
  readonly refillMs: number
  readonly idleRefillMs: number
  /** Shortest interval between writes of one series, and the silence after which a new series starts, in milliseconds. */
  readonly refreshMs: number
  readonly quietMs: number
}

const defaultLimits: EventLimits = {
  queued: 4_000,
  queuedOfOne: 2_000,
  series: 4_096,
  burst: 50,
  refillMs: 100,
  idleRefillMs: 10,
  refreshMs: 60_000,
  // client-go ends a series after six minutes.
  quietMs: 360_000,
}
const writeTimeoutMs = 10_000
/** The longest note that the API server accepts, in bytes. */
const maxNoteBytes = 1_024

type Series = {
  readonly key: string
  readonly name: string
  readonly namespace: string
  /** The event to create; undefined once it is created, because only its name is needed then. */
  first: ObjectInput | undefined
  /** Number of occurrences, and the number that the server has; 0 before the event is created. */
  count: number
  writtenCount: number
  lastMs: number
  writtenMs: number
  queued: boolean
}

type Options = {
  /** A client behind the fence, like that of every write. */
  client: Pick<Client<KubeObject>, 'create' | 'patch'>
  /** The reporting controller, such as `example.test/operator`, and its process; at most 128 characters each. */
  controller: string
  instance: string
  clock: Clock
  random: () => number
  log: KubeLog
  limits?: Partial<EventLimits>
  metrics?: EventMetrics
}

/**
 * Creates a recorder of events of events.k8s.io/v1. Equal events are one series: the first is created, the second is
 * written at once, and later ones by their count from time to time. Unlike in client-go's tools/events, another note is
 * another event: a series shows the note of its first event, which may be outdated.
 */
export const createEventRecorder = (options: Options): EventRecorder => {
  const { clock, client, log, metrics } = options
  const limits = { ...defaultLimits, ...options.limits }
  const seriesByKey = new Map<string, Series>()
  const queue = createFairQueue<Series>('events', ({ namespace }) => namespace)
  let wake = (): void => {}

  const push = (series: Series): void => {
    if (series.queued) return
    if (queue.size >= limits.queued || queue.sizeOf(series.namespace) >= limits.queuedOfOne) {
      metrics?.countDropped()
      return
    }
    series.queued = true
    queue.add(series)
    wake()
  }
  const record: EventRecorder['record'] = (regarding, event) => {
    const nowMs = clock.monotonic()
    const key = keyOf(regarding, event)
    const before = seriesByKey.get(key)
    seriesByKey.delete(key)
    if (before === undefined || nowMs - before.lastMs > limits.quietMs) {
      const series = beginSeries(options, key, regarding, event)
      seriesByKey.set(key, series)
      if (seriesByKey.size > limits.series) seriesByKey.delete([...seriesByKey.keys()][0] ?? '')
      return push(series)
    }
    seriesByKey.set(key, before)
    before.count += 1
    before.lastMs = nowMs
    if (before.writtenCount < 2 || nowMs - before.writtenMs >= limits.refreshMs) push(before)
  }
  const write = async (series: Series, signal: AbortSignal): Promise<void> => {
    const { count } = series
    const call = { signal, timeoutMs: writeTimeoutMs }
    try {
      if (series.first !== undefined) await client.create(series.first, call)
      else {
        const lastMs = clock.now() - (clock.monotonic() - series.lastMs)
        await client.patch(series, { series: { count, lastObservedTime: microTime(lastMs) } }, call)
      }
      series.writtenCount = series.first === undefined ? count : 1
      series.first = undefined
      series.writtenMs = clock.monotonic()
      metrics?.countWritten()
      // Counts the occurrences since the first event was sent.
      if (series.count > 1 && series.writtenCount === 1) push(series)
    } catch (error) {
      // The server deletes events after an hour. After any fault, the next event of the series is created anew.
      seriesByKey.delete(series.key)
      metrics?.countDropped()
      if (!isNotFound(error)) log.debug({ err: error, event: series.name }, 'event: not written')
    }
  }
  return {
    record,
    run: async (signal, isBusy = () => true) => {
      const allowance = createAllowance(limits, clock, isBusy)
      signal.addEventListener('abort', () => wake(), { once: true })
      while (!signal.aborted) {
        const [series] = queue.take(1)
        if (series === undefined) {
          await new Promise<void>((resolve) => {
            wake = resolve
          })
          continue
        }
        series.queued = false
        const waitMs = allowance()
        if (waitMs > 0) await sleep(clock, waitMs, signal)
        if (!signal.aborted) await write(series, signal)
      }
    },
  }
}

const keyOf = (regarding: KubeObject, { type, reason, action, note }: EventInput): string =>
  [regarding.metadata.uid, type, reason, action, note].join('/')

const beginSeries = (options: Options, key: string, regarding: KubeObject, event: EventInput): Series => {
  const { clock, random } = options
  const { name, namespace, uid, resourceVersion } = regarding.metadata
  const nowMs = clock.now()
  const suffix = `${nowMs.toString(16)}${Math.floor(random() * 2 ** 32)
    .toString(16)
    .padStart(8, '0')}`
  const ref = { name: `${name.slice(0, 200)}.${suffix}`, namespace: namespace ?? 'default' }
  return {
    key,
    ...ref,
    count: 1,
    writtenCount: 0,
    queued: false,
    lastMs: clock.monotonic(),
    writtenMs: Number.NEGATIVE_INFINITY,
    first: {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: ref,
      eventTime: microTime(nowMs),
      reportingController: options.controller,
      reportingInstance: options.instance.slice(0, 128),
      type: event.type,
      reason: event.reason,
      action: event.action,
      note: shortened(event.note),
      regarding: { apiVersion: regarding.apiVersion, kind: regarding.kind, name, namespace, uid, resourceVersion },
    },
  }
}

const shortened = (note: string): string => {
  const bytes = Buffer.from(note)
  // Leaves out a character that the limit splits.
  return bytes.length <= maxNoteBytes
    ? note
    : new TextDecoder().decode(bytes.subarray(0, maxNoteBytes - 3), { stream: true })
}

/** Creates a token bucket. Each call takes a token and returns the wait for it in milliseconds. */
const createAllowance = (limits: EventLimits, clock: Clock, isBusy: () => boolean): (() => number) => {
  let tokens = limits.burst
  let countedMs = clock.monotonic()
  return () => {
    const refillMs = isBusy() ? limits.refillMs : limits.idleRefillMs
    const nowMs = clock.monotonic()
    tokens = Math.min(limits.burst, tokens + (nowMs - countedMs) / refillMs) - 1
    countedMs = nowMs
    return Math.max(0, -tokens * refillMs)
  }
}
