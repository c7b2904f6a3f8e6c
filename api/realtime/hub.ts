import type { ScopeIds } from '#api/domain/access/scope.ts'
import { createHoldings } from '#api/platform/fairness/holdings.ts'
import type { ChangedWorld } from './changes.ts'
import { type Connection, type Entry, flush, hasRoom, type Subscription } from './connection.ts'
import { createDelivery, type DeliveryOptions } from './delivery.ts'
import { createFrameJoiner } from './join.ts'
import { frameCount, removeUpdates } from './pending.ts'
import { type DocumentContent, errorText, notFoundText, type ResourceName, type ResourceType } from './protocol.ts'
import {
  canRead,
  clearStale,
  decideSubscribe,
  findSubscription,
  permissionEffect,
  postpone,
  takeStale,
} from './subscription.ts'
import type { Change } from './tail.ts'
import { readTopic, type SubscriptionTarget, type Topic, topicKey, topicOfFeed, topicOfWorld } from './topic.ts'

/** A document as read from its row, with the ids of its scope. */
export type Snapshot = DocumentContent & ScopeIds & { readonly deleted: boolean }

type HubOptions = DeliveryOptions & {
  /** Schedules reading the topic; the result is passed to `publishSnapshot`. */
  readonly read: (entry: Entry) => void
  /** Called for each change of a world of a feed. */
  readonly feedChanged: (entry: Entry, world: ChangedWorld) => void
  /** Called for a feed that must send its snapshot again. */
  readonly restartFeed: (subscription: Subscription) => void
  /** Called for a document that the client subscribes to again. It schedules reading it for the subscription. */
  readonly repeat: (subscription: Subscription) => void
  /** Called for each change of an API key. */
  readonly keyChanged: (apiKeyId: string) => void
}

/** The most bytes of the subscriptions of one organization, and of all. */
const subscriptionLimits = { perGroup: 64 * 1024 * 1024, total: 384 * 1024 * 1024, free: 0 }
/** The bytes of a subscription without its names. */
const plainBytes = 512
/** Returns the bytes that a subscription takes: the name is stored as the client wrote it, and in the topic and its key. */
const bytesOf = ({ id }: ResourceName, { organizationId }: ScopeIds): number =>
  plainBytes + 2 * id.length + 3 * organizationId.length

/** An index of the topics with subscriptions, by key. */
const createRegistry = ({ metrics }: Pick<HubOptions, 'metrics'>) => {
  const entries = new Map<string, Entry>()
  const holdings = createHoldings(subscriptionLimits)
  return {
    entries,
    /** Holds the bytes of a subscription. Returns false if they do not fit. */
    hold: ({ scope }: Connection, resource: ResourceName): boolean =>
      holdings.hold(scope.organizationId, bytesOf(resource, scope)),
    add: (connection: Connection, resource: ResourceName, { topic, isOwnScope }: SubscriptionTarget): Entry => {
      const key = topicKey(topic)
      const entry = entries.get(key) ?? { key, topic, subscriptions: new Set<Subscription>(), bytes: 0 }
      entries.set(key, entry)
      const subscription: Subscription = {
        connection,
        entry,
        resource,
        isOwnScope,
        sentVersionMs: 0,
        needsSnapshot: true,
        skippedVersionMs: 0,
        grant: undefined,
      }
      entry.subscriptions.add(subscription)
      connection.subscriptions.push(subscription)
      metrics.addSubscriptions(1)
      return entry
    },
    remove: (subscription: Subscription): void => {
      const { connection, entry } = subscription
      const at = connection.subscriptions.indexOf(subscription)
      if (at < 0) return
      connection.subscriptions.splice(at, 1)
      clearStale(subscription)
      removeUpdates(connection.pending, subscription)
      entry.subscriptions.delete(subscription)
      holdings.giveBack(connection.scope.organizationId, bytesOf(subscription.resource, connection.scope))
      if (entry.subscriptions.size === 0) entries.delete(entry.key)
      metrics.addSubscriptions(-1)
    },
  }
}

/** Reports whether a skipped change is newer than the snapshot, and clears the record of skipped changes. */
const consumeSkippedVersion = (subscription: Subscription, snapshot: Snapshot | undefined): boolean => {
  if (subscription.needsSnapshot) return false
  const isNewer = subscription.skippedVersionMs > (snapshot?.versionMs ?? 0)
  subscription.skippedVersionMs = 0
  return isNewer
}

const topicOf = (change: Change, type: ResourceType): Topic =>
  type === 'world' ? topicOfWorld(change.organizationId, change.id) : { ...change, type }

/** The subscriptions of one replica. It decides which message each connection gets, and does no I/O. */
export type Hub = ReturnType<typeof createHub>

/** Returns a hub without connections. */
export const createHub = (options: HubOptions) => {
  const { metrics, read } = options
  const { sendNotice, deliver } = createDelivery(options)
  const registry = createRegistry(options)
  const join = createFrameJoiner()
  const changeFeeds = ({ type, id, organizationId, projectId, versionMs, ageMs }: Change, nowMs: number): void => {
    const writtenMs = type === 'worldCounts' ? undefined : nowMs - ageMs
    for (const feed of ['', projectId]) {
      const entry = registry.entries.get(topicKey(topicOfFeed(organizationId, feed)))
      if (entry !== undefined) options.feedChanged(entry, { id, projectId, versionMs, writtenMs })
    }
  }
  return {
    ...createRequests(options, registry, sendNotice),
    /** Queues a warning or an error for a connection. */
    sendNotice,
    /** Ends the subscriptions of a feed whose project does not exist. */
    refuseAbsent: (entry: Entry): void => {
      for (const subscription of [...entry.subscriptions]) {
        registry.remove(subscription)
        sendNotice(subscription.connection, notFoundText(subscription.resource))
      }
    },
    /** Removes a closed connection and its subscriptions. */
    remove: (connection: Connection): void => {
      metrics.addDropped(frameCount(connection.pending))
      for (const subscription of [...connection.subscriptions]) registry.remove(subscription)
    },
    /** Delivers committed changes. `nowMs` is the monotonic time at which they were read. */
    publish: (changes: readonly Change[], nowMs: number): void => {
      for (const change of changes) {
        const { type, data } = change
        if (type === 'apiKey') {
          options.keyChanged(change.id)
          continue
        }
        if (type === 'world' || type === 'worldCounts') changeFeeds(change, nowMs)
        const entry = type === 'worldCounts' ? undefined : registry.entries.get(topicKey(topicOf(change, type)))
        if (entry === undefined) continue
        if (data === undefined) read(entry)
        else deliver(entry, { ...change, data }, { writtenMs: nowMs - change.ageMs })
      }
    },
    /** Returns the topic's subscriptions that need a snapshot. Call it before reading the topic. */
    subscriptionsForSnapshot: (entry: Entry): Set<Subscription> =>
      new Set([...entry.subscriptions].filter(({ needsSnapshot }) => needsSnapshot)),
    /**
     * Reports whether a client of the topic has room for its document. Call it before reading the topic. If no client has room, the
     * topic is read when one does.
     */
    hasReader: ({ subscriptions }: Entry): boolean => {
      if ([...subscriptions].some(({ connection }) => hasRoom(connection))) return true
      for (const subscription of subscriptions) postpone(subscription)
      return false
    },
    /**
     * Delivers the snapshot of a topic; undefined means that no row exists. `receivers` are the subscriptions that
     * needed it before the read began.
     */
    publishSnapshot: (entry: Entry, snapshot: Snapshot | undefined, receivers: ReadonlySet<Subscription>): void => {
      for (const subscription of receivers) {
        const isWaiting = subscription.needsSnapshot && entry.subscriptions.has(subscription)
        if (!isWaiting || (snapshot !== undefined && !snapshot.deleted && canRead(subscription, snapshot))) continue
        subscription.needsSnapshot = false
        // The client gets a not-found warning, so the deletion itself is not delivered as a change.
        if (snapshot?.deleted) {
          subscription.sentVersionMs = Math.max(subscription.sentVersionMs, snapshot.versionMs)
        }
        sendNotice(subscription.connection, notFoundText(subscription.resource))
      }
      if (snapshot !== undefined) deliver(entry, snapshot, { receivers })
      // A read that began before a change may not contain it.
      if ([...receivers].filter((each) => consumeSkippedVersion(each, snapshot)).length > 0) read(entry)
      // The next flush reads the postponed topics for which there was no room until now.
      for (const { connection } of entry.subscriptions) {
        if (connection.stale.length > 0) options.scheduleFlush(connection)
      }
    },
    /** Reads every topic again, of these organizations or of all. Call it when changes may have been missed. */
    refresh: (organizations?: ReadonlySet<string>): void => {
      for (const entry of registry.entries.values()) {
        if (organizations?.has(entry.topic.organizationId) === false) continue
        if (entry.topic.type === 'worlds') entry.subscriptions.forEach(options.restartFeed)
        else read(entry)
      }
    },
    /** Writes a connection's pending frames, and reads as many of its postponed documents as it has room for. */
    flush: (connection: Connection, nowMs: number): void => {
      for (const { writtenMs } of flush(connection, join, () => options.scheduleFlush(connection))) {
        metrics.observeDelivery(writtenMs === undefined ? undefined : (nowMs - writtenMs) / 1000)
      }
      if (!hasRoom(connection)) return
      for (const { entry } of takeStale(connection)) read(entry)
    },
  }
}

/** The requests of clients, and changes of their permissions. */
const createRequests = (
  { read, repeat, restartFeed }: HubOptions,
  registry: ReturnType<typeof createRegistry>,
  sendNotice: (connection: Connection, text: string) => void,
) => ({
  /**
   * Subscribes to a resource. The subscription is registered before the document is read, so that a change that is
   * committed in between is delivered.
   */
  subscribe: (connection: Connection, resource: ResourceName): void => {
    const existing = findSubscription(connection, resource)
    if (existing !== undefined) {
      const again = existing.entry.topic.type === 'worlds' ? restartFeed : repeat
      again(existing)
      return
    }
    const target = decideSubscribe(connection, resource)
    if ('fault' in target) sendNotice(connection, errorText(target.fault, { message: target.message, resource }))
    else if (registry.hold(connection, resource)) read(registry.add(connection, resource, target))
    else {
      const message =
        'The subscriptions of the organization take too much memory of this replica. Unsubscribe from others.'
      sendNotice(connection, errorText('limit', { message, resource }))
    }
  },
  /** Removes a subscription. Only an invalid resource name is an error. */
  unsubscribe: (connection: Connection, resource: ResourceName): void => {
    const existing = findSubscription(connection, resource)
    const target = readTopic(connection.scope, resource)
    if (existing !== undefined) registry.remove(existing)
    else if ('fault' in target) {
      sendNotice(connection, errorText(target.fault, { message: target.message, resource }))
    }
  },
  /** Sends the error for a malformed message. */
  refuseMalformed: (connection: Connection): void => sendNotice(connection, errorText('malformed')),
  /** Applies new permissions: ends subscriptions that may no longer read, and reads documents that are readable now. */
  updatePermissions: (connection: Connection, permissions: readonly string[]): void => {
    connection.principal = { ...connection.principal, permissions }
    for (const subscription of [...connection.subscriptions]) {
      const effect = permissionEffect(subscription, permissions)
      subscription.grant = undefined
      if (effect === 'read' && subscription.entry.topic.type === 'worlds') restartFeed(subscription)
      else if (effect === 'read') read(subscription.entry)
      if (effect !== 'end') continue
      registry.remove(subscription)
      const message = 'The credential no longer has permission to read this resource.'
      sendNotice(connection, errorText('permission', { message, resource: subscription.resource }))
    }
  },
})
