import type { Clock } from '#shared/clock.ts'
import { type Client, type Selection, withoutManagedFields } from './client.ts'
import { errorFromStatus, isRecord, KubeError } from './errors.ts'
import type { KubeObject } from './objects.ts'

/** An event of a watch. A bookmark has no object, only the version that the watch has reached. */
export type WatchEvent<T> =
  | { readonly type: 'put' | 'remove'; readonly object: T; readonly version: string }
  | { readonly type: 'bookmark'; readonly version: string }

/** The time limits of a watch in milliseconds. */
export type FeedTiming = {
  /** Longest time without an event. It must exceed the server's bookmark interval of one minute. */
  readonly idleTimeoutMs: number
  /** The server ends a watch after 1 to 2 times this value, so that caches do not reconnect all at once. */
  readonly watchMs: number
}

/** A watch that ends sooner without an event is a fault: retried at once, it would be a hot loop. */
const shortWatchMs = 1_000

/** Creates a function that watches from a version on. It yields events until the watch ends, and throws if it fails. */
export const createFeed = <T extends KubeObject>(options: {
  client: Client<T>
  clock: Clock
  random: () => number
  selection: Selection
  timing: FeedTiming
}) =>
  async function* (resourceVersion: string, signal: AbortSignal): AsyncGenerator<WatchEvent<T>> {
    const { client, clock, selection, timing } = options
    const startedMs = clock.monotonic()
    const timeoutSeconds = Math.max(1, Math.round((timing.watchMs * (1 + options.random())) / 1000))
    const { idleTimeoutMs } = timing
    let version = resourceVersion
    for await (const line of client.watch({ ...selection, resourceVersion, timeoutSeconds, signal, idleTimeoutMs })) {
      const event = readWatchEvent<T>(line)
      version = event.version
      yield event
    }
    if (version === resourceVersion && clock.monotonic() - startedMs < shortWatchMs) {
      const message = `watch ${client.resource.plural}: it ended at once without an event`
      throw new KubeError({ message, status: 0 })
    }
  }

/**
 * Reads a parsed line. Throws an ERROR event as a `KubeError`, and a line that is not an event as one with reason Malformed.
 * An event of an unknown type counts as a bookmark.
 */
const readWatchEvent = <T extends KubeObject>(line: unknown): WatchEvent<T> => {
  const { type, object } = isRecord(line) ? line : {}
  if (type === 'ERROR') throw errorFromStatus(codeOf(object), object, 'watch')
  if (typeof type !== 'string' || !isObject<T>(object)) throw malformed(line)
  const version = object.metadata.resourceVersion
  if (version === undefined) throw malformed(line)
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
      return { type: 'put', object: withoutManagedFields(object), version }
    case 'DELETED':
      return { type: 'remove', object: withoutManagedFields(object), version }
    default:
      return { type: 'bookmark', version }
  }
}

/** Checks the fields that the kit relies on. Readers of other fields check them themselves. */
const isObject = <T extends KubeObject>(value: unknown): value is T =>
  isRecord(value) && isRecord(value.metadata) && typeof value.metadata.resourceVersion === 'string'

const codeOf = (status: unknown): number => (isRecord(status) && typeof status.code === 'number' ? status.code : 500)

const malformed = (line: unknown): KubeError =>
  new KubeError({
    message: `watch: a line is not an event: ${JSON.stringify(line)?.slice(0, 128)}`,
    status: 0,
    reason: 'Malformed',
  })
