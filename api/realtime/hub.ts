import type { ScopeIds } from '#api/domain/access/scope.ts'
import { type Connection, type Entry, flush, type Subscription } from './connection.ts'
import { createDelivery, type DeliveryOptions } from './delivery.ts'
import { createJoin } from './join.ts'
import { framesOf, removeUpdates } from './pending.ts'
import { errorText, type Named, notFoundText, type Told } from './protocol.ts'
import { afterPermit, decideSubscribe, findSubscription, forgetStale, reads } from './subscription.ts'
import type { Change } from './tail.ts'
import { readTopic, type Topic, topicKey, topicOfWorld } from './topic.ts'

/** A resource as its row has it, with the ids of its place in the tree. */
export type Found = Told & ScopeIds & { readonly deleted: boolean }

type HubOptions = DeliveryOptions & {
  /** Reads a topic soon, and gives it to `loaded`. */
  readonly read: (entry: Entry) => void
  /** Something of a key changed. */
  readonly keyChanged: (apiKeyId: string) => void
}

/** The topics that somebody follows, and who follows each. */
const createRegistry = ({ metrics }: Pick<HubOptions, 'metrics'>) => {
  const entries = new Map<string, Entry>()
  return {
    entries,
    add: (connection: Connection, named: Named, topic: Topic, known: boolean): Entry => {
      const key = topicKey(topic)
      const entry = entries.get(key) ?? { key, topic, subscriptions: new Set<Subscription>() }
      entries.set(key, entry)
      const subscription = { connection, entry, named, known, sentMs: 0, awaits: true, passedMs: 0, grant: undefined }
      entry.subscriptions.add(subscription)
      connection.subscriptions.push(subscription)
      metrics.subscriptions(1)
      return entry
    },
    remove: (subscription: Subscription): void => {
      const { connection, entry } = subscription
      const at = connection.subscriptions.indexOf(subscription)
      if (at < 0) return
      connection.subscriptions.splice(at, 1)
      forgetStale(subscription)
      removeUpdates(connection.pending, subscription)
      entry.subscriptions.delete(subscription)
      if (entry.subscriptions.size === 0) entries.delete(entry.key)
      metrics.subscriptions(-1)
    },
  }
}

/** Whether a change that was not told to a subscription is newer than what was found; it is forgotten. */
const takePassed = (subscription: Subscription, found: Found | undefined): boolean => {
  if (subscription.awaits) return false
  const isNewer = subscription.passedMs > (found?.versionMs ?? 0)
  subscription.passedMs = 0
  return isNewer
}

/** Who follows what in this replica. It decides what each connection is told, and does no I/O of its own. */
export type Hub = ReturnType<typeof createHub>

/** A hub without connections. */
export const createHub = (options: HubOptions) => {
  const { metrics, read } = options
  const { say, deliver } = createDelivery(options)
  const registry = createRegistry(options)
  const join = createJoin()
  return {
    ...createRequests(options, registry, say),
    /** Forgets a connection that is gone. */
    remove: (connection: Connection): void => {
      metrics.dropped(framesOf(connection.pending))
      for (const subscription of [...connection.subscriptions]) registry.remove(subscription)
    },
    /** Takes what was committed; `nowMs` is the monotonic time at which it was read. */
    publish: (changes: readonly Change[], nowMs: number): void => {
      for (const change of changes) {
        const { type, data } = change
        if (type === 'apiKey') {
          options.keyChanged(change.id)
          continue
        }
        const topic = type === 'world' ? topicOfWorld(change.organizationId, change.id) : { ...change, type }
        const entry = registry.entries.get(topicKey(topic))
        if (entry === undefined) continue
        if (data === undefined) read(entry)
        else deliver(entry, { ...change, data }, { writtenMs: nowMs - change.ageMs })
      }
    },
    /** Those of a topic to whom the present document is owed; asked before it is read. */
    awaiting: (entry: Entry): Set<Subscription> => new Set([...entry.subscriptions].filter(({ awaits }) => awaits)),
    /** Takes what was read of a topic; undefined is nothing. `awaiting` are those to whom it was owed before the reading. */
    loaded: (entry: Entry, found: Found | undefined, awaiting: ReadonlySet<Subscription>): void => {
      for (const subscription of awaiting) {
        const owed = subscription.awaits && entry.subscriptions.has(subscription)
        if (!owed || (found !== undefined && !found.deleted && reads(subscription, found))) continue
        subscription.awaits = false
        // The row that a deletion left is not news to one who is just told that there is nothing.
        if (found?.deleted) subscription.sentMs = Math.max(subscription.sentMs, found.versionMs)
        say(subscription.connection, notFoundText(subscription.named))
      }
      if (found !== undefined) deliver(entry, found, { owed: awaiting })
      // A reading that began before a change may not show it.
      if ([...awaiting].filter((each) => takePassed(each, found)).length > 0) read(entry)
    },
    /** Reads everything that is followed: something may have been missed. */
    refresh: (): void => {
      for (const entry of registry.entries.values()) read(entry)
    },
    /** Writes what waits for a connection, and reads again what could not wait. */
    flush: (connection: Connection, nowMs: number): void => {
      for (const { writtenMs } of flush(connection, join, () => options.wantsFlush(connection))) {
        metrics.delivered(writtenMs === undefined ? undefined : (nowMs - writtenMs) / 1000)
      }
      if (connection.waitsForDrain) return
      if (connection.stale.length === 0) return
      for (const { entry } of connection.stale) read(entry)
      connection.stale = []
    },
  }
}

/** What connections ask for, and what their permissions let them keep. */
const createRequests = (
  { read }: HubOptions,
  registry: ReturnType<typeof createRegistry>,
  say: (connection: Connection, text: string) => void,
) => ({
  /** Follows a resource: registered first and read afterwards, so that what is committed in between comes as a change. */
  subscribe: (connection: Connection, named: Named): void => {
    const present = findSubscription(connection, named)
    const asked = present === undefined ? decideSubscribe(connection, named) : undefined
    if (present !== undefined) {
      present.awaits = true
      read(present.entry)
    } else if (asked !== undefined && 'topic' in asked) {
      read(registry.add(connection, named, asked.topic, asked.known))
    } else if (asked !== undefined) say(connection, errorText(asked.fault, { message: asked.message, resource: named }))
  },
  /** Follows a resource no more; what was never followed is no fault, but what could never be is. */
  unsubscribe: (connection: Connection, named: Named): void => {
    const present = findSubscription(connection, named)
    const asked = readTopic(connection.scope, named)
    if (present !== undefined) registry.remove(present)
    else if ('fault' in asked) say(connection, errorText(asked.fault, { message: asked.message, resource: named }))
  },
  /** Tells that a message was malformed. */
  refuseMalformed: (connection: Connection): void => say(connection, errorText('malformed')),
  /** Takes new permissions: what may not be read any more ends with an error, what may be now is read. */
  permit: (connection: Connection, permissions: readonly string[]): void => {
    connection.principal = { ...connection.principal, permissions }
    for (const subscription of [...connection.subscriptions]) {
      const then = afterPermit(subscription, permissions)
      subscription.grant = undefined
      if (then === 'read') read(subscription.entry)
      if (then !== 'end') continue
      registry.remove(subscription)
      const message = 'The credential may not read this any more.'
      say(connection, errorText('permission', { message, resource: subscription.named }))
    }
  },
})
