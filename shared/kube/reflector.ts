import { type Clock, sleep } from '#shared/clock.ts'
import { withDefined } from '#shared/optional.ts'
import { type BackoffTiming, createBackoff } from './backoff.ts'
import type { Client, Selection } from './client.ts'
import { isForbidden, isNotFound, KubeError } from './errors.ts'
import { type KubeLog, withFields } from './log.ts'
import type { KubeMetrics } from './metrics.ts'
import type { KubeObject } from './objects.ts'
import { type Position, positionAfter, positionAt, unknownPosition } from './position.ts'
import { remedyOf } from './remedy.ts'
import { type Change, createStore, type Indexers, type Store } from './store.ts'
import { createVersions } from './versions.ts'
import { createFeed, type FeedTiming, type WatchEvent } from './watch.ts'

/** A cache of one kind of object. It lists the objects, then watches them, and lists again when it must. */
export type Reflector<T> = {
  readonly store: Store<T>
  /** Runs until the signal aborts. Faults of the server are retried with backoff and never thrown. */
  run(signal: AbortSignal): Promise<void>
  /** Reports whether a full list was read. `synced` waits for it and rejects after `timeoutMs`. */
  hasSynced(): boolean
  synced(options: { timeoutMs: number; signal?: AbortSignal }): Promise<void>
  /** Reports whether the API server serves the kind, as far as is known. Only an optional kind may be absent. */
  isServed(): boolean
  /** Calls the listener for each change after the store has it. Exceptions of a listener are logged. */
  onChange(listener: (change: Change<T>) => void): void
  /** Calls the listener after each full list, when its changes have been reported. */
  onList(listener: () => void): void
  /** Resolves with true once the cache has this resourceVersion or a newer one, with false after `timeoutMs` or the end of `run`. */
  waitForVersion(resourceVersion: string, options: { timeoutMs: number }): Promise<boolean>
  /** Returns the time since the last event or bookmark (one a minute) in milliseconds; infinite before the first list. */
  silentMs(): number
}

/** The timing of a reflector in milliseconds. The defaults are client-go's. */
export type ReflectorTiming = BackoffTiming & FeedTiming

const defaultTiming: ReflectorTiming = {
  firstBackoffMs: 800,
  maxBackoffMs: 30_000,
  resetBackoffMs: 120_000,
  idleTimeoutMs: 90_000,
  watchMs: 300_000,
}

type Options<T extends KubeObject> = Selection & {
  client: Client<T>
  clock: Clock
  random: () => number
  log: KubeLog
  indexers?: Indexers<T>
  /** Returns the part of an object that the cache keeps; all of it by default. */
  keep?: (object: T) => T
  /** Takes a kind that the API server does not have, or does not show from the start, for one without objects, and asks again. */
  isOptional?: boolean
  timing?: Partial<ReflectorTiming>
  metrics?: KubeMetrics
}

/** Creates a reflector of the selected objects of a kind, in one namespace or in all. */
export const createReflector = <T extends KubeObject>(options: Options<T>): Reflector<T> => {
  const { client, clock, random, namespace, labelSelector, fieldSelector, keep = (object: T) => object } = options
  const { plural } = client.resource
  const log = withFields(options.log, { resource: plural })
  const timing = { ...defaultTiming, ...options.timing }
  const selection = {
    ...(namespace ? { namespace } : {}),
    ...(labelSelector ? { labelSelector } : {}),
    ...(fieldSelector ? { fieldSelector } : {}),
  }
  const store = createStore<T>(options.indexers)
  const versions = createVersions(clock)
  const changed = createListeners<Change<T>>(log)
  const listed = createListeners<void>(log)
  let position: Position = unknownPosition
  let heardAtMs = Number.NEGATIVE_INFINITY
  let isServed = false
  const hasSynced = (): boolean => heardAtMs > Number.NEGATIVE_INFINITY
  const silentMs = (): number => clock.monotonic() - heardAtMs
  const metrics = options.metrics?.reflector(plural, silentMs)
  const feed = createFeed<T>({ client, clock, random, selection, timing })

  const list = async (signal: AbortSignal): Promise<void> => {
    const answer = await client.list({ ...selection, keep, signal })
    isServed = true
    replace(answer.items, positionAt(answer.resourceVersion))
    versions.reset(answer.resourceVersion)
    listed.tell()
  }
  const replace = (objects: readonly T[], next: Position): void => {
    heardAtMs = clock.monotonic()
    const changes = store.replace(objects)
    position = next
    for (const change of changes) changed.tell(change)
    metrics?.countList()
    log.debug({ objects: objects.length, changes: changes.length }, 'cache: listed')
  }
  const empty = (): void => {
    if (isServed || !hasSynced()) log.info({}, 'cache: the API server does not serve this kind of object')
    isServed = false
    replace([], unknownPosition)
    listed.tell()
  }
  const applyEvent = (event: WatchEvent<T>): void => {
    heardAtMs = clock.monotonic()
    metrics?.countEvent()
    const changes = event.type === 'bookmark' ? [] : store[event.type](keep(event.object))
    position = positionAt(event.version)
    for (const change of changes) changed.tell(change)
    versions.advance(event.version)
  }
  /** Takes note of an error. Returns the delay until the next attempt in milliseconds. */
  const recover = (error: unknown, backoffMs: number): number => {
    const isMissing = options.isOptional === true && isNotFound(error)
    // A right that is missing from the start must not hold up those who wait for the first list.
    if (isMissing || (options.isOptional === true && isForbidden(error) && !hasSynced())) empty()
    if (isMissing) return backoffMs
    position = positionAfter(position, error)
    const delayMs = Math.max(backoffMs, error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0)
    const remedy = remedyOf(error, client.resource)
    log.warn(
      { delayMs, mustList: position.mustList, ...withDefined({ remedy }), err: error },
      'cache: interrupted, will retry',
    )
    return delayMs
  }
  const fill = async (signal: AbortSignal): Promise<void> => {
    const backoff = createBackoff(timing, clock, random)
    while (!signal.aborted) {
      try {
        if (position.mustList) await list(signal)
        metrics?.countWatch()
        for await (const event of feed(position.version, signal)) applyEvent(event)
      } catch (error) {
        if (signal.aborted) return
        await sleep(clock, recover(error, backoff()), signal)
      }
    }
  }
  return {
    store: store.read,
    // A shutdown must not wait for a version that the cache no longer gets.
    run: (signal) => fill(signal).finally(versions.end),
    hasSynced,
    isServed: () => isServed,
    synced: async ({ timeoutMs, signal }) => {
      if (hasSynced()) return
      const done = new AbortController()
      const forget = listed.add(() => done.abort())
      await sleep(clock, timeoutMs, signal === undefined ? done.signal : AbortSignal.any([signal, done.signal]))
      forget()
      if (!hasSynced()) throw new Error(`${plural}: no full list was read within ${timeoutMs} ms`)
    },
    onChange: (listener) => void changed.add(listener),
    onList: (listener) => void listed.add(listener),
    waitForVersion: (resourceVersion, { timeoutMs }) => versions.waitFor(resourceVersion, timeoutMs),
    silentMs,
  }
}

/** Creates a list of listeners. */
const createListeners = <E>(log: KubeLog) => {
  const listeners = new Set<(event: E) => void>()
  return {
    add: (listener: (event: E) => void): (() => void) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    tell: (event: E): void => {
      for (const listener of listeners) {
        try {
          listener(event)
        } catch (error) {
          log.error({ err: error }, 'cache: listener failed')
        }
      }
    },
  }
}
