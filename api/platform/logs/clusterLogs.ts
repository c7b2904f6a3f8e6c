import { isDeepStrictEqual } from 'node:util'
import type { LogSourceSettings } from './replicas.ts'
import { createLogSource, type LogSource } from './source.ts'

/** A cluster and the log server of its operator; undefined if it offers no logs. */
type LoggedCluster = { readonly name: string; readonly logs: LogSourceSettings | undefined }

/** The logs of the pods of every cluster. */
export type ClusterLogs = {
  /** Returns the logs of a cluster. Each request for those of an unknown one is a 501. */
  of(cluster: string): LogSource
  /** Reports whether the cluster offers logs. */
  isOffered(cluster: string): boolean
  /** Replaces the clusters. Logs that are being read from a changed one end. */
  update(clusters: readonly LoggedCluster[]): void
  close(): Promise<void>
}

type Entry = { readonly settings: LogSourceSettings | undefined; readonly source: LogSource }

/** Creates the sources of logs of the clusters. */
export const createClusterLogs = (
  clusters: readonly LoggedCluster[],
  parts: Parameters<typeof createLogSource>[1],
): ClusterLogs => {
  const entries = new Map<string, Entry>()
  const unknown = createLogSource(undefined, parts)
  const update: ClusterLogs['update'] = (next) => {
    const settings = new Map(next.map(({ name, logs }) => [name, logs]))
    for (const [name, entry] of entries) {
      if (settings.has(name) && isDeepStrictEqual(settings.get(name), entry.settings)) continue
      entries.delete(name)
      void entry.source.close()
    }
    for (const [name, logs] of settings) {
      if (!entries.has(name)) entries.set(name, { settings: logs, source: createLogSource(logs, parts) })
    }
  }
  update(clusters)
  return {
    of: (cluster) => entries.get(cluster)?.source ?? unknown,
    isOffered: (cluster) => entries.get(cluster)?.settings !== undefined,
    update,
    close: async () => void (await Promise.all([...entries.values()].map(({ source }) => source.close()))),
  }
}
