import { isDeepStrictEqual } from 'node:util'
import { reloadRegularly } from '#shared/reload.ts'
import { type Cluster, readClusters } from './clusterConfig.ts'
import { createClusterDirectory } from './domain/worlds/place.ts'
import { createClusterLogs } from './platform/logs/clusterLogs.ts'
import { countLogResults } from './platform/logs/metrics.ts'
import { startSync } from './sync/allClusters.ts'

/** The interval at which the list of clusters and their kubeconfigs are read again. */
const reloadMs = 5_000

type Options = Omit<Parameters<typeof startSync>[1], 'logs' | 'clusters'>

/** Connects to the clusters of the configuration, and follows changes of their list. */
export const startClusters = (listed: readonly Cluster[], options: Options) => {
  const { env, clock, log, registry } = options
  const logs = createClusterLogs(listed, { clock, log, onResult: countLogResults(registry) })
  const directory = createClusterDirectory(listed)
  const sync = startSync(listed, { ...options, logs, clusters: directory })
  let present = listed
  const problem = 'could not load the new clusters, still using the previous ones'
  const endReload = reloadRegularly({ clock, log, everyMs: reloadMs, problem }, () => {
    const next = readClusters(env)
    // A kubeconfig may have changed although the list has not. The first update throws if the clusters cannot be used.
    sync.update(next)
    directory.update(next)
    logs.update(next)
    if (isDeepStrictEqual(next, present)) return
    present = next
    log.info({ clusters: next.map(({ name }) => name) }, 'reloaded the clusters')
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
