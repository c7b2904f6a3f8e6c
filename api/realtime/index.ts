import type { Registry } from 'prom-client'
import type { Deps } from '#api/domain/access/context.ts'
import type { Principal } from '#api/platform/auth/principal.ts'
import { createBatcher } from './batcher.ts'
import type { Connection } from './connection.ts'
import { createFlusher } from './flusher.ts'
import { createGate, type SocketLimits } from './gate.ts'
import { createHub } from './hub.ts'
import { createRealtimeMetrics } from './metrics.ts'
import { createRecheck } from './recheck.ts'
import { openTailSession, readTopics } from './service.ts'
import { createSessions } from './sessions.ts'
import type { Entry } from './subscription.ts'
import { followChanges } from './tail.ts'
import { createUpgrade, type UpgradeOptions } from './upgrade.ts'

/** Topics that one query reads: documents have at most 1 MiB. */
const topicsAtOnce = 128

type RealtimeOptions = {
  readonly deps: Deps
  readonly databaseUrl: string
  readonly limits: SocketLimits
  readonly verifyToken: (token: string) => Promise<Principal | undefined>
  readonly fetch: UpgradeOptions['fetch']
  readonly registry: Registry
  readonly random: () => number
}

/** Serves WebSocket connections in this replica, with what all replicas commit. */
export const startRealtime = (options: RealtimeOptions) => {
  const { deps, registry, random } = options
  const { db, clock, log, scopeExists } = deps
  const stopping = new AbortController()
  const { signal } = stopping
  const gate = createGate(options.limits)
  const connections = new Set<Connection>()
  const metrics = createRealtimeMetrics(registry, clock.monotonic, () =>
    connections.values().reduce((bytes, { peer, pending }) => bytes + peer.buffered() + pending.bytes, 0),
  )

  const flusher = createFlusher(clock, (connection) => hub.flush(connection, clock.monotonic()))
  const reader = createBatcher<Entry>({
    ...{ name: 'topics', limit: topicsAtOnce, clock, log, signal },
    work: async (entries) => {
      const wanted = entries.filter(({ subscriptions }) => subscriptions.size > 0)
      const awaiting = wanted.map(hub.awaiting)
      const found = await readTopics(
        db,
        wanted.map(({ topic }) => topic),
      )
      for (const [at, entry] of wanted.entries()) hub.loaded(entry, found.get(entry.key), awaiting[at] ?? new Set())
    },
  })
  const hub = createHub({
    metrics,
    read: reader.add,
    keyChanged: (id) => {
      // REST in this replica sees the change as soon as realtime does.
      deps.keys.forget(id)
      deps.tokens.forget(id)
      recheck.changed(id)
    },
    wantsFlush: flusher.want,
    end: (connection, why) => sessions.end(connection, why),
  })
  const recheck = createRecheck({
    ...{ connections, verifyToken: options.verifyToken, scopeExists, clock, log, signal },
    readCredentials: deps.readCredentials,
    permit: hub.permit,
    end: (connection, why) => sessions.end(connection, why),
  })
  const sessions = createSessions(connections, {
    ...{ hub, metrics, clock, random, opened: recheck.add, closed: recheck.remove },
  })
  const running = Promise.all([
    followChanges({
      open: () => openTailSession(options.databaseUrl),
      publish: (changes) => hub.publish(changes, clock.monotonic()),
      refresh: () => {
        metrics.refreshed()
        hub.refresh()
        recheck.all()
      },
      polled: metrics.polled,
      ...{ clock, log, signal },
    }),
    sessions.run(signal),
    recheck.run(),
  ])
  const upgrade = createUpgrade({
    fetch: options.fetch,
    enter: ({ principal }, address) => gate.enter(principal, address),
    open: sessions.open,
    ...{ clock, log },
  })
  return {
    /** Answers what `isUpgrade` says is one. */
    upgrade: (...[request, socket, head]: Parameters<typeof upgrade>): void => void upgrade(request, socket, head),
    /** Admits nobody any more, says goodbye to all with 1012, and ends. */
    stop: async (): Promise<void> => {
      gate.close()
      await sessions.drain()
      stopping.abort()
      await running
    },
  }
}
