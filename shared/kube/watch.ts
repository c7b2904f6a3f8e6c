import type { Clock } from '#shared/clock.ts'
import { type Client, type Selection, withoutManagedFields } from './client.ts'
import { errorFromStatus, isRecord, KubeError } from './errors.ts'
import type { KubeObject } from './objects.ts'

/** One line of a watch. A bookmark has no object: it says how far the watch has come. */
export type WatchEvent<T> =
  | { readonly type: 'put' | 'remove'; readonly object: T; readonly version: string }
  | { readonly type: 'bookmark'; readonly version: string }

/** How a watch ends, in milliseconds. */
export type FeedTiming = {
  /** How long the server may be silent: longer than its bookmark interval of a minute. */
  readonly idleTimeoutMs: number
  /** The server ends a watch after one to two times this, so that not all caches come back at once. */
  readonly watchMs: number
}

/** A watch that ends sooner, and brings nothing, is a fault: taken up again at once, it would be a hot loop. */
const shortWatchMs = 1_000

/** A function that begins a watch from a version on; what it gives ends when the watch does, and throws when it fails. */
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
      const message = `watch ${client.resource.plural}: it ended at once and brought nothing`
      throw new KubeError({ message, status: 0 })
    }
  }

/**
 * Reads a parsed line. An ERROR event is thrown as the `KubeError` that it stands for; a line that is no event as one of
 * reason Malformed. A type of event that is not known yet moves the version on and nothing else.
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

/** What is relied on of an object; all else is the business of whoever reads it. */
const isObject = <T extends KubeObject>(value: unknown): value is T =>
  isRecord(value) && isRecord(value.metadata) && typeof value.metadata.resourceVersion === 'string'

const codeOf = (status: unknown): number => (isRecord(status) && typeof status.code === 'number' ? status.code : 500)

const malformed = (line: unknown): KubeError =>
  new KubeError({
    message: `watch: a line is no event: ${JSON.stringify(line)?.slice(0, 128)}`,
    status: 0,
    reason: 'Malformed',
  })
