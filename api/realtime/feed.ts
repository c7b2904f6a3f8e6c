import { type Clock, sleep } from '#shared/clock.ts'
import type { Log } from '#shared/log.ts'
import { createBatcher } from './batcher.ts'
import { type ChangedWorld, createChanges, firstWrittenMs } from './changes.ts'
import type { Connection, Entry, Subscription } from './connection.ts'
import { createGatherer } from './gatherer.ts'
import type { RealtimeMetrics } from './metrics.ts'
import { type Frame, offerUpdate, removeUpdates } from './pending.ts'
import { type FeedData, type FeedWorld, textFrame, updateText } from './protocol.ts'
import { createRestarts } from './restarts.ts'
import { postpone as addStale, clearStale } from './subscription.ts'
import { mayReadWholeFeed, mayReadWorld, type Topic } from './topic.ts'

/** The position in a list of worlds after which a page starts. */
export type FeedCursor = { readonly createdAt: Date; readonly id: string }
/** A page of a snapshot; `next` is the position of the next page. */
export type FeedPage = { readonly worlds: readonly FeedWorld[]; readonly next: FeedCursor | undefined }

/** The reads and sinks of a feed. */
export type FeedOptions = {
  /** Reads a page of at most `limit` worlds of a topic, oldest first. */
  readonly readPage: (topic: Topic, after: FeedCursor | undefined, limit: number) => Promise<FeedPage>
  /** Reads the present state of worlds, at least one. Those that it leaves out are read again. A world without a row is deleted. */
  readonly readWorlds: (topic: Topic, changed: readonly ChangedWorld[]) => Promise<readonly FeedWorld[]>
  /** Returns the keys of the topics whose project exists. */
  readonly readExisting: (topics: readonly Topic[]) => Promise<ReadonlySet<string>>
  /** Ends the subscriptions of a feed whose project does not exist. */
  readonly refuse: (entry: Entry) => void
  readonly scheduleFlush: (connection: Connection) => void
  readonly metrics: RealtimeMetrics
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}

/** The number of worlds of one message. */
export const feedPageSize = 100
/** The shortest and the longest pause after a batch. Changes gather into one message meanwhile. */
const pausesMs = { shortest: 10, longest: 50 }
/** The pause for each message of a batch: about three times the time of its write, which leaves time for other work. */
// With 1,000 subscribers, 10 and 15 µs cost a third more CPU for each change, and 30 µs raise the p99 above 50 ms.
const pausePerMessageMs = 0.02
/** Returns the pause after a batch that sent this number of messages. */
export const feedPauseMs = (messages: number): number =>
  Math.min(Math.max(pausesMs.shortest, messages * pausePerMessageMs), pausesMs.longest)
/** The number of projects per query that checks whether they exist. */
const projectsPerQuery = 128

/**
 * Delivers the worlds of organizations and projects. A subscription gets a snapshot in pages and each change from its start
 * on. All content is read from rows, one read after the other, so no subscriber gets an older state of a world after a newer
 * one. A client that falls behind gets the snapshot again, after the one that it gets. Organizations are served in turn, and the worlds of a project
 * are only read after it was seen to exist.
 */
export const createFeed = (options: FeedOptions) => {
  const { readPage, readWorlds, readExisting, refuse } = options
  const changes = createChanges()
  const { sizeOf, adapt } = createReadSizes()
  const { positions, postpone, move, deliver } = createFeedDelivery(options)

  /** Delivers the changes of an entry. Returns the number of messages. */
  const deliverChanges = async (entry: Entry): Promise<number> => {
    const batch = changes.take(entry, sizeOf(entry))
    if (batch.length === 0) return 0
    try {
      const worlds = await readWorlds(entry.topic, batch)
      const told = new Set(worlds.map(({ worldId }) => worldId))
      const untold = batch.filter(({ id }) => !told.has(id))
      adapt(entry, told.size, untold.length > 0)
      changes.add(entry, untold)
      return deliver([...entry.subscriptions], { worlds }, firstWrittenMs(batch)).length
    } catch (error) {
      changes.add(entry, batch)
      throw error
    } finally {
      if (changes.has(entry)) batcher.add(entry)
    }
  }
  /** Takes the first subscription with room, and returns all subscriptions that need the same page. */
  const receiversOf = (entry: Entry): { after: FeedCursor | undefined; receivers: Subscription[] } | undefined => {
    const waiting = [...entry.subscriptions].filter(({ needsSnapshot }) => needsSnapshot)
    for (const each of waiting) if (each.connection.waitsForDrain) postpone(each)
    const ready = waiting.filter(({ connection }) => !connection.waitsForDrain)
    const [first] = ready
    if (first === undefined) return undefined
    const after = positions.get(first)
    return { after, receivers: ready.filter((each) => positions.get(each)?.id === after?.id) }
  }
  /** Delivers the next page that subscriptions of an entry need. Returns the number of messages. */
  const deliverPage = async (entry: Entry): Promise<number> => {
    const requested = receiversOf(entry)
    if (requested === undefined) return 0
    const { after } = requested
    const { worlds, next } = await readPage(entry.topic, after, sizeOf(entry))
    adapt(entry, worlds.length, next !== undefined && worlds.length < sizeOf(entry))
    const receivers = requested.receivers.filter(
      (each) => entry.subscriptions.has(each) && positions.get(each)?.id === after?.id,
    )
    const snapshot = { isFirst: after === undefined, isLast: next === undefined }
    const delivered = deliver(receivers, { worlds, snapshot }, undefined)
    for (const each of delivered) {
      each.needsSnapshot = move(each, next)
      clearStale(each)
    }
    batcher.add(entry)
    return delivered.length
  }
  const common = { ...options, ownerOf: ({ topic }: Entry) => topic.organizationId }
  const batcher = createBatcher<Entry>({
    ...common,
    name: 'feeds',
    limit: 16,
    work: async (entries) => {
      let messages = 0
      for (const entry of entries) messages += (await deliverChanges(entry)) + (await deliverPage(entry))
      await sleep(options.clock, feedPauseMs(messages), options.signal)
      return []
    },
  })
  const checks = createBatcher<Entry>({
    ...common,
    name: 'feed projects',
    limit: projectsPerQuery,
    work: async (entries) => {
      const existing = await readExisting(entries.map(({ topic }) => topic))
      for (const entry of entries) {
        if (existing.has(entry.key)) batcher.add(entry)
        else refuse(entry)
      }
      await sleep(options.clock, pausesMs.shortest, options.signal)
      return []
    },
  })
  const add = (entry: Entry, worlds: readonly ChangedWorld[]): void => {
    changes.add(entry, worlds)
    batcher.add(entry)
  }
  const gatherer = createGatherer(options, add)
  /** The organization of a connection exists, so only projects are checked. */
  const read = (entry: Entry): void => (entry.topic.projectId === '' ? batcher : checks).add(entry)
  return {
    /** Reads the snapshots that subscriptions of the entry need. Ends them if its project does not exist. */
    read,
    /** Delivers the present state of a world to the subscriptions of the entry: changed counts after `gatherMs`. */
    change: (entry: Entry, world: ChangedWorld): void => {
      if (world.writtenMs === undefined) gatherer.add(entry, world)
      else {
        gatherer.drop(entry, world.id)
        add(entry, [world])
      }
    },
    /** Sends a subscription the snapshot again from its start, at most once a second. */
    restart: createRestarts(options, (subscription) => {
      positions.delete(subscription)
      subscription.needsSnapshot = true
      read(subscription.entry)
    }),
  }
}

/**
 * Keeps the number of worlds of the next read of each entry. A read decompresses the labels of all its worlds, so that it finds those that
 * fit into a message. After a read that was too large, the next one has the number that fitted, and later ones at most twice as many.
 */
const createReadSizes = () => {
  const sizes = new WeakMap<Entry, number>()
  const sizeOf = (entry: Entry): number => sizes.get(entry) ?? feedPageSize
  const adapt = (entry: Entry, fitted: number, isCut: boolean): void => {
    const size = isCut ? fitted : Math.max(sizeOf(entry), 2 * fitted)
    sizes.set(entry, Math.min(Math.max(size, 1), feedPageSize))
  }
  return { sizeOf, adapt }
}

/** Queues messages for subscriptions of feeds, and keeps the position of each in its snapshot. */
const createFeedDelivery = ({ scheduleFlush, metrics, clock }: FeedOptions) => {
  /** `hasMissed` is true after a change that the client did not get: one more snapshot follows this one. */
  const positions = new WeakMap<Subscription, FeedCursor & { readonly hasMissed: boolean }>()
  /** Lets the connection read the subscription's entry again when it has room. */
  const postpone = (subscription: Subscription): void => {
    addStale(subscription)
    scheduleFlush(subscription.connection)
  }
  /** An update that is replaced or refused may be about another world, so the client needs all of them again. */
  const queue = (subscription: Subscription, frame: Frame, isPage: boolean): boolean => {
    const { connection } = subscription
    const offered = connection.waitsForDrain ? undefined : offerUpdate(connection.pending, subscription, frame, false)
    if (offered?.accepted && offered.replaced === 0) {
      scheduleFlush(connection)
      return true
    }
    const position = positions.get(subscription)
    // A snapshot goes on after a pause. If each change began it again, a slow client would never get all of it.
    if (position !== undefined && offered === undefined) {
      positions.set(subscription, { ...position, hasMissed: position.hasMissed || !isPage })
    } else {
      removeUpdates(connection.pending, subscription)
      positions.delete(subscription)
      subscription.needsSnapshot = true
    }
    metrics.addDropped(1)
    postpone(subscription)
    return false
  }
  return {
    positions,
    postpone,
    /** Sets the position of a snapshot after a page. Reports whether another page must follow, of this snapshot or the next one. */
    move: (subscription: Subscription, next: FeedCursor | undefined): boolean => {
      const hasMissed = positions.get(subscription)?.hasMissed ?? false
      if (next === undefined) positions.delete(subscription)
      else positions.set(subscription, { ...next, hasMissed })
      return next !== undefined || hasMissed
    },
    /** Queues worlds for the subscriptions that may read them. Returns the subscriptions that get the message. */
    deliver: (receivers: readonly Subscription[], data: FeedData, writtenMs: number | undefined): Subscription[] => {
      const frameOf = ({ resource }: Subscription, worlds: readonly FeedWorld[]): Frame => {
        const content = { userId: '', data: JSON.stringify({ ...data, worlds }), versionMs: clock.now() }
        return { bytes: textFrame(updateText(resource, content)), writtenMs }
      }
      // Subscriptions that read the whole feed share one frame.
      let shared: Frame | undefined
      return receivers.filter((subscription) => {
        const { permissions } = subscription.connection.principal
        const { topic } = subscription.entry
        if (mayReadWholeFeed(permissions, topic)) {
          shared ??= frameOf(subscription, data.worlds)
          return queue(subscription, shared, data.snapshot !== undefined)
        }
        const worlds = data.worlds.filter((world) => mayReadWorld(permissions, topic, world))
        if (worlds.length === 0 && data.snapshot === undefined) return false
        return queue(subscription, frameOf(subscription, worlds), data.snapshot !== undefined)
      })
    },
  }
}
