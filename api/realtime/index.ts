import type { Registry } from 'prom-client'
import type { Deps } from '#api/domain/access/context.ts'
import type { Principal } from '#api/platform/auth/principal.ts'
import type { ClientAddress } from '#api/platform/http/clientAddress.ts'
import { createBatcher } from './batcher.ts'
import type { Connection, Entry } from './connection.ts'
import { createFeed, type FeedOptions } from './feed.ts'
import { createFlusher } from './flusher.ts'
import { createGate, type OrganizationLimit, type SocketLimits } from './gate.ts'
import { createHub, type Hub } from './hub.ts'
import { createRealtimeMetrics } from './metrics.ts'
import { openTailSession, readExistingFeeds, readFeedPage, readFeedWorlds, readTopics } from './reads.ts'
import { createRecheck } from './recheck.ts'
import { createRestarts } from './restarts.ts'
import { createSessions } from './sessions.ts'
import { tailChanges } from './tail.ts'
import { createUpgrade, type UpgradeOptions } from './upgrade.ts'

/** The number of topics per query. Their bytes are limited too. */
const topicsPerQuery = 128

type RealtimeOptions = {
  readonly deps: Deps
  readonly databaseUrl: string
  readonly limits: SocketLimits
  readonly verifyToken: (token: string) => Promise<Principal | undefined>
  readonly fetch: UpgradeOptions['fetch']
  readonly clientAddress: ClientAddress
  readonly registry: Registry
  readonly random: () => number
}

/** Serves the WebSocket connections of this replica and delivers the changes that all replicas commit. */
export const startRealtime = (options: RealtimeOptions) => {
  const { deps, registry, random } = options
  const { db, clock, log } = deps
  const stopping = new AbortController()
  const { signal } = stopping
  const gate = createGate(options.limits, limitOf(deps))
  const connections = new Set<Connection>()
  const presence = createPresence(connections)
  const metrics = createRealtimeMetrics(registry, clock.monotonic, () => sumQueuedBytes(connections))

  const flusher = createFlusher(clock, (connection) => hub.flush(connection, clock.monotonic()))
  const reader = createReader({ db, clock, log, signal, hub: () => hub })
  const hub = createHub({
    metrics,
    read: (entry) => (entry.topic.type === 'worlds' ? feed.read(entry) : reader.read(entry)),
    feedChanged: (entry, world) => feed.change(entry, world),
    restartFeed: (subscription) => feed.restart(subscription),
    repeat: reader.repeat,
    keyChanged: (id) => {
      // The REST API of this replica sees the change as soon as realtime does.
      deps.keys.forget(id)
      deps.tokens.forget(id)
      recheck.changed(id)
    },
    scheduleFlush: flusher.schedule,
    end: (connection, why) => sessions.end(connection, why),
  })
  const feedSinks = { refuse: hub.refuseAbsent, scheduleFlush: flusher.schedule }
  const feed = createFeed({ ...feedReads(deps), ...feedSinks, metrics, clock, log, signal })
  const recheck = createRecheck({
    connections,
    verifyToken: options.verifyToken,
    scopeExists: deps.scopeExists,
    clock,
    log,
    signal,
    readCredentials: deps.readCredentials,
    permit: hub.updatePermissions,
    end: (connection, why) => sessions.end(connection, why),
  })
  const sessions = createSessions(connections, {
    hub,
    metrics,
    clock,
    random,
    onOpen: (connection) => {
      recheck.add(connection)
      presence.begin()
    },
    onClose: recheck.remove,
  })
  const running = Promise.all([
    tailChanges({
      open: () => openTailSession(options.databaseUrl),
      publish: (changes) => hub.publish(changes, clock.monotonic()),
      refresh: (organizations) => {
        if (organizations === undefined) metrics.countRefresh()
        hub.refresh(organizations)
        recheck.all(organizations)
      },
      untilWatched: presence.begun,
      onPoll: metrics.recordPoll,
      clock,
      log,
      signal,
    }),
    sessions.run(signal),
    recheck.run(),
  ])
  const upgrade = createUpgrade({
    fetch: options.fetch,
    clientAddress: options.clientAddress,
    enter: ({ principal }, address) => gate.enter(principal, address),
    open: sessions.open,
    clock,
    log,
  })
  return {
    /** Handles an upgrade request for which `isUpgrade` returned true. */
    upgrade: (...[request, socket, head]: Parameters<typeof upgrade>): void => void upgrade(request, socket, head),
    /** Refuses new connections, closes all others with code 1012 and stops. */
    stop: async (): Promise<void> => {
      gate.close()
      await sessions.drain()
      stopping.abort()
      await running
    },
  }
}

/** Returns the bytes that wait to be sent. */
const sumQueuedBytes = (connections: ReadonlySet<Connection>): number =>
  connections.values().reduce((bytes, { peer, pending }) => bytes + peer.buffered() + pending.bytes, 0)

/** Signals that a replica without connections gets one. */
const createPresence = (connections: ReadonlySet<Connection>) => {
  let beginning = new AbortController()
  return {
    /** Call it when a connection opens. */
    begin: (): void => beginning.abort(),
    /** Returns a signal that is aborted when the first connection opens, or undefined if there are connections. */
    begun: (): AbortSignal | undefined => {
      if (connections.size > 0) return undefined
      beginning = new AbortController()
      return beginning.signal
    },
  }
}

type ReaderOptions = Pick<Deps, 'db' | 'clock' | 'log'> & {
  readonly signal: AbortSignal
  readonly hub: () => Hub
}

/** Returns functions that schedule reading a document, for all subscriptions that need it or again for one. */
const createReader = ({ db, clock, log, signal, hub }: ReaderOptions) => {
  const batcher = createBatcher<Entry>({
    name: 'topics',
    limit: topicsPerQuery,
    ownerOf: ({ topic }) => topic.organizationId,
    clock,
    log,
    signal,
    work: (entries) => readEntries(db, hub(), entries),
  })
  const repeat = createRestarts({ clock, signal }, (subscription) => {
    subscription.needsSnapshot = true
    batcher.add(subscription.entry)
  })
  return { read: batcher.add, repeat }
}

/** Reads the documents of entries and publishes them as snapshots. Returns the entries that were too much for one query. */
const readEntries = async (db: Deps['db'], hub: Hub, entries: readonly Entry[]): Promise<readonly Entry[]> => {
  const requested = entries.filter((entry) => entry.subscriptions.size > 0 && hub.hasReader(entry))
  const receivers = requested.map(hub.subscriptionsForSnapshot)
  const { found, unread } = await readTopics(
    db,
    requested.map(({ topic }) => topic),
  )
  for (const [at, entry] of requested.entries()) {
    if (!unread.has(entry.key)) hub.publishSnapshot(entry, found.get(entry.key), receivers[at] ?? new Set())
  }
  return requested.filter(({ key }) => unread.has(key))
}

const feedReads = ({ db }: Deps): Pick<FeedOptions, 'readPage' | 'readWorlds' | 'readExisting'> => ({
  readPage: (topic, after, limit) => readFeedPage(db, topic, after, limit),
  readWorlds: (topic, changed) => readFeedWorlds(db, topic, changed),
  readExisting: (topics) => readExistingFeeds(db, topics),
})

const limitOf = ({ connectionCounts, cachedLimits }: Deps): OrganizationLimit => ({
  counts: connectionCounts,
  maxOf: (organizationId) => cachedLimits(organizationId).maxConnections,
})
