import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '#shared/clock.ts'
import type { Log } from '#shared/log.ts'
import { type Cluster, readClusters } from './clusterConfig.ts'
import { createClusterDirectory } from './domain/worlds/place.ts'
import { createClusterLogs } from './platform/logs/clusterLogs.ts'
import { countLogResults } from './platform/logs/metrics.ts'
import { startSync } from './sync/allClusters.ts'

/**
 * The interval at which the list of clusters and their kubeconfigs are read again. A ConfigMap's volume swaps a symlink, which
 * file watches do not report.
 */
const reloadMs = 5_000

type Options = Omit<Parameters<typeof startSync>[1], 'logs' | 'clusters'>

/** Connects to the clusters of the configuration, and follows changes of their list. */
export const startClusters = (listed: readonly Cluster[], options: Options) => {
  const { env, clock, log, registry } = options
  const logs = createClusterLogs(listed, { clock, log, onResult: countLogResults(registry) })
  const directory = createClusterDirectory(listed)
  const sync = startSync(listed, { ...options, logs, clusters: directory })
  const endReload = reloadClusters({
    present: listed,
    read: () => readClusters(env),
    apply: (next) => {
      sync.update(next)
      directory.update(next)
      logs.update(next)
    },
    clock,
    log,
  })
  return {
    logs,
    directory,
    /** Pushes dirty rows now. */
    wake: sync.wake,
    stop: async (): Promise<void> => {
      endReload()
      await sync.stop()
      await logs.close()
    },
  }
}

/**
 * Reads the clusters again at an interval and applies them. Clusters that cannot be read or applied are logged once, and the
 * present ones stay. Returns how to end it.
 */
const reloadClusters = (options: {
  readonly present: readonly Cluster[]
  readonly read: () => readonly Cluster[]
  /** Throws if the clusters cannot be used. Nothing has changed then. */
  readonly apply: (clusters: readonly Cluster[]) => void
  readonly clock: Clock
  readonly log: Log
}): (() => void) => {
  const { read, apply, clock, log } = options
  let { present } = options
  let lastFault = ''
  const look = (): void => {
    try {
      const next = read()
      // A kubeconfig may have changed although the list has not.
      apply(next)
      lastFault = ''
      if (isDeepStrictEqual(next, present)) return
      present = next
      log.info({ clusters: next.map(({ name }) => name) }, 'reloaded the clusters')
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      if (why !== lastFault) log.error({ why }, 'could not load the new clusters, still using the previous ones')
      lastFault = why
    }
  }
  let isOver = false
  const arm = () =>
    clock.setTimeout(() => {
      look()
      if (!isOver) timer = arm()
    }, reloadMs)
  let timer = arm()
  return () => {
    isOver = true
    timer.cancel()
  }
}
