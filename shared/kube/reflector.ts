import { type Clock, sleep } from '#shared/clock.ts'
import type { Log } from '#shared/log.ts'
import type { Client } from './client.ts'
import { errorFromStatus, isExpired, isThrottled, KubeError } from './errors.ts'
import type { KubeMetrics } from './metrics.ts'
import type { KubeObject } from './objects.ts'
import { type Change, createStore, type Store } from './store.ts'

/** A cache of one kind that follows the API server: it lists, then watches, and starts over when it must. */
export type Reflector<T> = {
  readonly store: Store<T>
  /** Follows until the signal is aborted; faults of the server are waited out and never thrown. */
  run(signal: AbortSignal): Promise<void>
  /** Whether a full list was read; `synced` waits for it and rejects after the time. */
  hasSynced(): boolean
  synced(options: { timeoutMs: number; signal?: AbortSignal }): Promise<void>
  onChange(listener: (change: Change<T>) => void): void
  /** Called after each full list is in the store. */
  onList(listener: () => void): void
  /** Read your own writes: true once the cache has this resourceVersion or a newer one, false after the time. */
  reached(resourceVersion: string, options: { timeoutMs: number }): Promise<boolean>
}

/** How a reflector waits, in milliseconds; the defaults are client-go's. */
export type ReflectorTiming = {
  readonly firstBackoffMs: number
  readonly maxBackoffMs: number
  readonly resetBackoffMs: number
  /** Longer than the server's bookmark interval of a minute. */
  readonly idleTimeoutMs: number
}

const defaultTiming: ReflectorTiming = {
  firstBackoffMs: 800,
  maxBackoffMs: 30_000,
  resetBackoffMs: 120_000,
  idleTimeoutMs: 90_000,
}

type Options<T extends KubeObject> = {
  client: Client<T>
  clock: Clock
  random: () => number
  log: Log
  labelSelector?: string
  timing?: Partial<ReflectorTiming>
  metrics?: KubeMetrics
}

/** A reflector of all objects of a kind, in all namespaces, that the selector takes. */
export const createReflector = <T extends KubeObject>(options: Options<T>): Reflector<T> => {
  const { client, clock, log, metrics } = options
  const { plural } = client.resource
  const timing = { ...defaultTiming, ...options.timing }
  const store = createStore<T>()
  const listeners: ((change: Change<T>) => void)[] = []
  const listListeners: (() => void)[] = []
  const waiters = createWaiters()
  let synced = false
  let version = ''
  // The version to list from: "0" is whatever the server's cache has; "" is the newest, when even that is too old.
  let listFrom: string = '0'

  const emit = (changes: readonly Change<T>[]): void => {
    for (const change of changes) for (const listener of listeners) listener(change)
  }
  const advance = (to: string): void => {
    version = to
    waiters.advance(to)
  }
  const list = async (): Promise<void> => {
    const { items, resourceVersion } = await client.list({
      ...(options.labelSelector === undefined ? {} : { labelSelector: options.labelSelector }),
      ...(listFrom === '' ? {} : { resourceVersion: listFrom }),
    })
    metrics?.relisted(plural)
    synced = true
    emit(store.replace(items))
    advance(resourceVersion)
    listFrom = resourceVersion
    for (const listener of listListeners) listener()
  }
  const take = (line: unknown): void => {
    const { type, object } = line as { type: string; object: T }
    metrics?.watchEvent(plural)
    if (type === 'ERROR') {
      const { code } = object as unknown as { code?: number }
      throw errorFromStatus(code ?? 500, object, `watch ${plural}`)
    }
    if (type !== 'BOOKMARK') {
      delete (object.metadata as { managedFields?: unknown }).managedFields
      emit(type === 'DELETED' ? store.remove(object) : store.put(object))
    }
    advance(object.metadata.resourceVersion ?? version)
    listFrom = version
  }
  const watch = async (signal: AbortSignal): Promise<void> => {
    const startedMs = clock.monotonic()
    let events = 0
    const query = {
      ...(options.labelSelector === undefined ? {} : { labelSelector: options.labelSelector }),
      resourceVersion: version,
      allowWatchBookmarks: 'true',
      timeoutSeconds: String(Math.round(300 * (1 + options.random()))),
    }
    for await (const line of client.watch({ query, signal, idleTimeoutMs: timing.idleTimeoutMs })) {
      events += 1
      take(line)
    }
    if (events === 0 && clock.monotonic() - startedMs < 1_000) {
      throw new KubeError({ message: `watch ${plural}: it ended at once, without an event`, status: 0 })
    }
  }

  return {
    store: store.read,
    run: async (signal) => {
      const backoff = createBackoff(timing, clock, options.random)
      let mustList = true
      while (!signal.aborted) {
        try {
          if (mustList) await list()
          mustList = false
          await watch(signal)
        } catch (error) {
          if (signal.aborted) return
          // A list that was refused asks next for the newest state: the server may not know the version any more.
          if (mustList && error instanceof KubeError && error.status >= 400 && !isThrottled(error)) listFrom = ''
          // A broken connection goes on from the last event; only a version that is too old, or a bug here, lists anew.
          mustList ||= isExpired(error) || !(error instanceof KubeError)
          const askedMs = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0
          const delayMs = Math.max(backoff(), askedMs)
          log.warn({ resource: plural, delayMs, err: error }, 'cache: the watch ended and is taken up again')
          await sleep(clock, delayMs, signal)
        }
      }
    },
    hasSynced: () => synced,
    synced: async ({ timeoutMs, signal }) => {
      const done = new AbortController()
      const stop = signal ? AbortSignal.any([signal, done.signal]) : done.signal
      if (synced) return
      listListeners.push(() => done.abort())
      await sleep(clock, timeoutMs, stop)
      if (!synced) throw new Error(`${plural}: the API server gave no full list within ${timeoutMs} ms`)
    },
    onChange: (listener) => void listeners.push(listener),
    onList: (listener) => void listListeners.push(listener),
    reached: (resourceVersion, { timeoutMs }) => waiters.reached(resourceVersion, clock, timeoutMs),
  }
}

/** Delays that double, with jitter, and begin anew after a long quiet time. */
const createBackoff = (timing: ReflectorTiming, clock: Clock, random: () => number): (() => number) => {
  let nextMs = timing.firstBackoffMs
  let lastMs = Number.NEGATIVE_INFINITY
  return () => {
    const nowMs = clock.monotonic()
    if (nowMs - lastMs > timing.resetBackoffMs) nextMs = timing.firstBackoffMs
    lastMs = nowMs
    const delayMs = nextMs * (1 + random())
    nextMs = Math.min(timing.maxBackoffMs, nextMs * 2)
    return Math.min(timing.maxBackoffMs, delayMs)
  }
}

/** Those who wait for a version. Versions of one kind compare as integers (Kubernetes 1.35); others are let through. */
const createWaiters = () => {
  let current = -1n
  const waiting = new Set<{ version: bigint; resolve: (reached: boolean) => void }>()
  const parse = (version: string): bigint | undefined => (/^\d+$/.test(version) ? BigInt(version) : undefined)
  return {
    advance: (to: string): void => {
      const version = parse(to)
      if (version === undefined || version <= current) return
      current = version
      for (const waiter of waiting) {
        if (waiter.version > current) continue
        waiting.delete(waiter)
        waiter.resolve(true)
      }
    },
    reached: (to: string, clock: Clock, timeoutMs: number): Promise<boolean> => {
      const version = parse(to)
      if (version === undefined || version <= current) return Promise.resolve(true)
      return new Promise((resolve) => {
        const timer = clock.setTimeout(() => {
          waiting.delete(waiter)
          resolve(false)
        }, timeoutMs)
        const waiter = {
          version,
          resolve: (reached: boolean) => {
            timer.cancel()
            resolve(reached)
          },
        }
        waiting.add(waiter)
      })
    },
  }
}
