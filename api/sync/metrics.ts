import { Gauge, Histogram, type Registry } from 'prom-client'
import { countFindings, readDirtyRowsByCluster } from '#api/domain/clusters/status.ts'
import { type FindingRow, heldSweeps } from '#api/domain/clusters/table.ts'
import type { Database } from '#api/platform/database/client.ts'
import { shareAnswer } from '#api/platform/http/readiness.ts'
import type { Clock } from '#shared/clock.ts'
import { kinds } from '#shared/resources/group.ts'

/** The longest age of a value that gauges share. It covers one scrape. */
const sharedMs = 500

const buckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

/** Creates the histograms of the time that a change needs in each direction. */
export const createLagMetrics = (registry: Registry, clock: Clock) => {
  const registers = [registry]
  const push = new Histogram({
    name: 'orrery_push_seconds',
    help: 'The time from the change of a row to its resource.',
    labelNames: ['cluster'],
    buckets,
    registers,
  })
  const pull = new Histogram({
    name: 'orrery_pull_seconds',
    help: 'The time from the change of a resource in the cache to its row.',
    labelNames: ['cluster'],
    buckets,
    registers,
  })
  return {
    observePush: (cluster: string, seconds: number | undefined): void => {
      if (seconds !== undefined) push.observe({ cluster }, Math.max(0, seconds))
    },
    /** Creates the timer of a queue of keys. A key is timed from its first event to the end of its reconcile. */
    pullTimer: (cluster: string) => {
      const since = new Map<string, number>()
      return {
        begin: (key: string): void => void (since.has(key) || since.set(key, clock.monotonic())),
        end: (key: string): void => {
          const startMs = since.get(key)
          if (startMs !== undefined) pull.observe({ cluster }, (clock.monotonic() - startMs) / 1_000)
          since.delete(key)
        },
      }
    },
  }
}

/** The histograms of the sync. */
export type LagMetrics = ReturnType<typeof createLagMetrics>

/** Registers the gauges of the sync. A value is NaN while the database does not respond. */
export const registerSyncMetrics = (options: {
  db: Database
  /** Returns the clusters of this replica. */
  refused: () => readonly { cluster: string; isRefused: boolean }[]
  clock: Clock
  registry: Registry
}): void => {
  const { db, refused, clock, registry } = options
  const dirty = shareAnswer(clock, sharedMs, () => readDirtyRowsByCluster(db).catch(() => undefined))
  const held = shareAnswer(clock, sharedMs, () => countHeldByCluster(db).catch(() => undefined))
  const clusterGauge = (name: string, help: string, read: () => Promise<ReadonlyMap<string, number> | undefined>) =>
    new Gauge({
      name,
      help,
      labelNames: ['cluster'] as const,
      registers: [registry],
      async collect() {
        const values = await read()
        this.reset()
        for (const { cluster } of refused()) {
          this.set({ cluster }, values === undefined ? Number.NaN : (values.get(cluster) ?? 0))
        }
        for (const [cluster, value] of values ?? []) this.set({ cluster }, value)
      },
    })
  const dirtyGauge = (name: string, help: string, key: 'count' | 'oldestSeconds') =>
    clusterGauge(name, help, async () => {
      const rows = await dirty()
      return rows && new Map(rows.map((row) => [row.cluster, row[key]]))
    })
  dirtyGauge('orrery_outbox_depth', 'Rows that wait to be pushed to the cluster.', 'count')
  dirtyGauge(
    'orrery_oldest_dirty_row_seconds',
    'The time for which the oldest dirty row has been dirty.',
    'oldestSeconds',
  )
  clusterGauge(
    'orrery_cluster_accepted',
    '1 if the cluster is the accepted one, 0 if it is refused.',
    async () => new Map(refused().map(({ cluster, isRefused }) => [cluster, isRefused ? 0 : 1])),
  )
  const findings = shareAnswer(clock, sharedMs, () => countFindings(db).catch(() => []))
  const findingGauge = (name: string, help: string, type: FindingRow['type']) =>
    new Gauge({
      name,
      help,
      labelNames: ['kind'] as const,
      registers: [registry],
      async collect() {
        this.reset()
        for (const each of await findings())
          if (each.type === type) this.set({ kind: kinds[each.kind].kind }, each.count)
      },
    })
  findingGauge('orrery_frozen_rows', 'Rows whose resource has a higher revision.', 'Frozen')
  findingGauge(
    'orrery_orphans',
    'Resources without a row that the API made, or whose organization is deleted or unknown.',
    'Orphan',
  )
  findingGauge('orrery_strangers', 'Resources with the name of a row that belong to another namespace.', 'Stranger')
  clusterGauge('orrery_held_resources', 'Missing resources that wait for "orrery sync accept".', held)
}

const countHeldByCluster = async (db: Database): Promise<ReadonlyMap<string, number>> => {
  const counts = new Map<string, number>()
  for (const { cluster, missing } of await db.select().from(heldSweeps)) {
    counts.set(cluster, (counts.get(cluster) ?? 0) + missing)
  }
  return counts
}
