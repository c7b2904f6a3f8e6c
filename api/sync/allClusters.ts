import { readFileSync } from 'node:fs'
import type { Registry } from 'prom-client'
import type { Database } from '#api/platform/database/client.ts'
import { type Claimed, claimUnserved, retryLater, settleClaim } from '#api/platform/outbox/outbox.ts'
import { sleep } from '#shared/clock.ts'
import { type Credentials, loadCredentials } from '#shared/kube/config.ts'
import { createKubeMetrics, type KubeMetrics } from '#shared/kube/metrics.ts'
import type { Log } from '#shared/log.ts'
import { withDefined } from '#shared/optional.ts'
import { createLagMetrics, registerSyncMetrics } from './metrics.ts'
import { type SyncOptions, startClusterSync } from './oneCluster.ts'
import { setWaitingMessage } from './rows/synced.ts'

/** A cluster to connect to; without a kubeconfig, `KUBECONFIG` or the service account of the pod is used. */
export type ConnectedCluster = { readonly name: string; readonly kubeconfig: string | undefined }

type Running = { readonly connection: string; readonly sync: ReturnType<typeof startClusterSync> }

type Options = SyncOptions & {
  readonly env: NodeJS.ProcessEnv
  readonly registry: Registry
}

/** The interval for claiming the rows of clusters that are not configured. */
const unservedPollMs = 2_000

/**
 * Runs the sync of each cluster, with connections, an election and claims of its own, so that an unreachable cluster delays
 * no other one. Throws if a kubeconfig cannot be loaded.
 */
export const startSync = (clusters: readonly ConnectedCluster[], options: Options) => {
  const { env, registry, ...common } = options
  const { db, clock, log } = common
  const metrics = createKubeMetrics(registry)
  const lag = createLagMetrics(registry, clock)
  const running = new Map<string, Running>()
  const ending = new Set<Promise<void>>()
  const stop = new AbortController()

  const start = (cluster: ConnectedCluster, credentials: Credentials): Running['sync'] =>
    startClusterSync({
      ...common,
      log: log.child({ cluster: cluster.name }),
      cluster: cluster.name,
      credentials,
      metrics: cluster.kubeconfig === undefined ? metrics : nameByCluster(metrics, cluster.name),
      lag,
    })
  const end = (name: string, { sync }: Running): Promise<void> => {
    running.delete(name)
    const ended = sync.stop().catch((error: unknown) => log.warn({ cluster: name, err: error }, 'sync: stop failed'))
    ending.add(ended)
    return ended.finally(() => ending.delete(ended))
  }
  const update = (next: readonly ConnectedCluster[]): void => {
    // All kubeconfigs are loaded before anything changes.
    const loaded = next.map((cluster) => {
      const connection = readConnection(cluster)
      const isNew = running.get(cluster.name)?.connection !== connection
      const path = cluster.kubeconfig
      return { cluster, connection, credentials: isNew ? loadCredentials(env, withDefined({ path })) : undefined }
    })
    for (const [name, each] of running) {
      const kept = loaded.find(({ cluster }) => cluster.name === name)
      if (kept === undefined || kept.credentials !== undefined) void end(name, each)
    }
    for (const { cluster, connection, credentials } of loaded) {
      if (credentials === undefined) continue
      running.set(cluster.name, { connection, sync: start(cluster, credentials) })
      log.info({ cluster: cluster.name }, 'sync: started')
    }
  }
  update(clusters)
  registerSyncMetrics({
    db,
    clock,
    registry,
    refused: () => [...running].map(([cluster, { sync }]) => ({ cluster, isRefused: sync.isRefused() })),
  })
  const holding = repeatHold()
  async function repeatHold(): Promise<void> {
    while (!stop.signal.aborted) {
      await holdUnserved(db, [...running.keys()], log)
      await sleep(clock, unservedPollMs, stop.signal)
    }
  }
  return {
    /** Pushes dirty rows now. */
    wake: (): void => {
      for (const { sync } of running.values()) sync.wake()
    },
    /**
     * Replaces the clusters: starts new ones, stops those that are no longer listed, and restarts those whose kubeconfig
     * changed. Throws if a kubeconfig cannot be loaded; nothing has changed then.
     */
    update,
    stop: async (): Promise<void> => {
      stop.abort()
      for (const [name, each] of [...running]) void end(name, each)
      await Promise.all([holding, ...ending])
    },
  }
}

/** Returns what a connection depends on. A change of it restarts the sync of the cluster. */
const readConnection = ({ kubeconfig }: ConnectedCluster): string => {
  if (kubeconfig === undefined) return ''
  try {
    return `${kubeconfig}\n${readFileSync(kubeconfig, 'utf8')}`
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`The kubeconfig ${kubeconfig} cannot be read: ${why}.`, { cause })
  }
}

/** Adds the cluster to the names of queues, controllers and caches, which must differ. */
const nameByCluster = (metrics: KubeMetrics, cluster: string): KubeMetrics => ({
  ...metrics,
  queue: (name) => metrics.queue(`${name}/${cluster}`),
  controller: (name, workers) => metrics.controller(`${name}/${cluster}`, workers),
  reflector: (name, silentMs) => metrics.reflector(`${name}/${cluster}`, silentMs),
})

const unservedBatch = 100
const unservedLeaseMs = 10_000
/** The interval for checking whether the cluster of a row is configured again. The push of that cluster then claims the row. */
const unservedRetryMs = 5_000

/** Sets a waiting message on dirty rows whose cluster is not configured. It never rejects. */
const holdUnserved = async (db: Database, clusters: readonly string[], log: Log): Promise<void> => {
  try {
    const claimed = await claimUnserved(db, { limit: unservedBatch, leaseMs: unservedLeaseMs, served: clusters })
    await Promise.all(claimed.map((mark) => hold(db, mark)))
  } catch (error) {
    log.warn({ err: error }, 'sync: rows of clusters that are not configured cannot be read')
  }
}

const hold = async (db: Database, claimed: Claimed): Promise<void> => {
  const { kind, id, cluster } = claimed
  // The mark of a row that no longer exists has no cluster. Limits are applied when a cluster is configured again.
  if (cluster === '' || kind === 'organization') return void (await settleClaim(db, claimed))
  await setWaitingMessage(db, kind, [id], `the cluster ${cluster} is not configured. Ask the platform operator.`)
  await retryLater(db, claimed, { delayMs: unservedRetryMs })
}
