import { type Clock, sleep } from '#shared/clock.ts'
import type { Client, Resource, Sent } from './client.ts'
import { isNotFound } from './errors.ts'
import { microTime } from './lease.ts'
import type { KubeLog } from './log.ts'
import type { EventMetrics } from './metrics.ts'
import type { KubeObject } from './objects.ts'

/** Something that happened to an object, for the people who look at it. */
export type Happening = {
  readonly type: 'Normal' | 'Warning'
  /** One CamelCase word: what happened. */
  readonly reason: string
  /** One CamelCase word: what was being done. */
  readonly action: string
  /** One sentence. */
  readonly note: string
}

/** Tells people what happened. */
export type EventRecorder = {
  /** Takes note and returns at once. What repeats becomes one series; what is too much is dropped. It never fails. */
  record(regarding: KubeObject, happening: Happening): void
  /** Writes what is recorded until the signal is aborted; what is left then is lost. */
  run(signal: AbortSignal): Promise<void>
}

/** How events are reached. */
export const eventResource: Resource = { group: 'events.k8s.io', version: 'v1', plural: 'events', kind: 'Event' }

/** How much is written of what is recorded. */
export type EventLimits = {
  /** Events that wait to be written; more are dropped. */
  readonly queued: number
  /** Series that are remembered; the one that was quiet for longest is forgotten first. */
  readonly series: number
  /** Writes that may follow each other at once, and how long each then takes to come back, in milliseconds. */
  readonly burst: number
  readonly refillMs: number
  /** A series that goes on is written at most so often; one that was quiet for longer begins anew. In milliseconds. */
  readonly refreshMs: number
  readonly quietMs: number
}

const defaultLimits: EventLimits = {
  ...{ queued: 1_000, series: 4_096, burst: 50, refillMs: 100, refreshMs: 60_000 },
  // client-go ends a series after six minutes.
  quietMs: 360_000,
}
const writeTimeoutMs = 10_000
/** The longest note that the API takes, in bytes. */
const maxNoteBytes = 1_024

type Series = {
  readonly key: string
  readonly name: string
  readonly namespace: string
  readonly first: Sent
  /** How often it happened, and how often as far as the server knows; 0 before it is created. */
  count: number
  writtenCount: number
  lastMs: number
  writtenMs: number
  queued: boolean
}

type Options = {
  /** Behind the fence, as every write. */
  client: Pick<Client<KubeObject>, 'create' | 'patch'>
  /** Who reports, such as `example.test/operator`, and which process of it; at most 128 characters each. */
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
  const known = new Map<string, Series>()
  const queue: Series[] = []
  let wake = (): void => {}

  const push = (series: Series): void => {
    if (series.queued) return
    if (queue.length >= limits.queued) {
      metrics?.dropped()
      return
    }
    series.queued = true
    queue.push(series)
    wake()
  }
  const record: EventRecorder['record'] = (regarding, happening) => {
    const nowMs = clock.monotonic()
    const key = keyOf(regarding, happening)
    const before = known.get(key)
    known.delete(key)
    if (before === undefined || nowMs - before.lastMs > limits.quietMs) {
      const series = beginSeries(options, key, regarding, happening)
      known.set(key, series)
      if (known.size > limits.series) known.delete([...known.keys()][0] ?? '')
      return push(series)
    }
    known.set(key, before)
    before.count += 1
    before.lastMs = nowMs
    if (before.writtenCount < 2 || nowMs - before.writtenMs >= limits.refreshMs) push(before)
  }
  const write = async (series: Series, signal: AbortSignal): Promise<void> => {
    const { count } = series
    const call = { signal, timeoutMs: writeTimeoutMs }
    try {
      if (series.writtenCount === 0) await client.create(series.first, call)
      else {
        const lastMs = clock.now() - (clock.monotonic() - series.lastMs)
        await client.patch(series, { series: { count, lastObservedTime: microTime(lastMs) } }, call)
      }
      series.writtenCount = series.writtenCount === 0 ? 1 : count
      series.writtenMs = clock.monotonic()
      metrics?.written()
      // What happened while the first was on its way is told now.
      if (series.count > 1 && series.writtenCount === 1) push(series)
    } catch (error) {
      // The server forgets events after an hour; whatever else went wrong, the next one of its kind begins anew.
      known.delete(series.key)
      metrics?.dropped()
      if (!isNotFound(error)) log.debug({ err: error, event: series.name }, 'event: not written')
    }
  }
  return {
    record,
    run: async (signal) => {
      const allowance = createAllowance(limits, clock)
      signal.addEventListener('abort', () => wake(), { once: true })
      while (!signal.aborted) {
        const series = queue.shift()
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

const keyOf = (regarding: KubeObject, { type, reason, action, note }: Happening): string =>
  [regarding.metadata.uid, type, reason, action, note].join('/')

const beginSeries = (options: Options, key: string, regarding: KubeObject, happening: Happening): Series => {
  const { clock, random } = options
  const { name, namespace, uid, resourceVersion } = regarding.metadata
  const nowMs = clock.now()
  const suffix = `${nowMs.toString(16)}${Math.floor(random() * 2 ** 32)
    .toString(16)
    .padStart(8, '0')}`
  const event = { name: `${name.slice(0, 200)}.${suffix}`, namespace: namespace ?? 'default' }
  return {
    ...{ key, ...event, count: 1, writtenCount: 0, queued: false },
    ...{ lastMs: clock.monotonic(), writtenMs: Number.NEGATIVE_INFINITY },
    first: {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: event,
      eventTime: microTime(nowMs),
      reportingController: options.controller,
      reportingInstance: options.instance.slice(0, 128),
      type: happening.type,
      reason: happening.reason,
      action: happening.action,
      note: shortened(happening.note),
      regarding: { apiVersion: regarding.apiVersion, kind: regarding.kind, name, namespace, uid, resourceVersion },
    },
  }
}

const shortened = (note: string): string => {
  const bytes = Buffer.from(note)
  // A character that the cut splits is left out whole.
  return bytes.length <= maxNoteBytes
    ? note
    : new TextDecoder().decode(bytes.subarray(0, maxNoteBytes - 3), { stream: true })
}

/** A token bucket; each call takes one and answers how long to wait for it, in milliseconds. */
const createAllowance = ({ burst, refillMs }: EventLimits, clock: Clock): (() => number) => {
  let fullAtMs = Number.NEGATIVE_INFINITY
  return () => {
    const nowMs = clock.monotonic()
    fullAtMs = Math.max(fullAtMs, nowMs) + refillMs
    return Math.max(0, fullAtMs - nowMs - burst * refillMs)
  }
}
