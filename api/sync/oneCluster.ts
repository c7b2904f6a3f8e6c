import { hostname } from 'node:os'
import type { Limits } from '#api/domain/access/limits.ts'
import { readTenancy } from '#api/domain/organizations/limits.ts'
import type { ClusterDirectory } from '#api/domain/worlds/place.ts'
import { runSchedules } from '#api/domain/worlds/scheduler.ts'
import type { WorldRow } from '#api/domain/worlds/table.ts'
import { beginsWithReads, type Database } from '#api/platform/database/client.ts'
import type { ClusterLogs } from '#api/platform/logs/clusterLogs.ts'
import type { Clock } from '#shared/clock.ts'
import type { HostPorts } from '#shared/domain/hostPorts.ts'
import type { NewId } from '#shared/ids.ts'
import { type Client, createClient } from '#shared/kube/client.ts'
import type { Credentials } from '#shared/kube/config.ts'
import { createEventRecorder, eventResource } from '#shared/kube/events.ts'
import type { KubeMetrics } from '#shared/kube/metrics.ts'
import { type KubeObject, objectKey } from '#shared/kube/objects.ts'
import { createReflector } from '#shared/kube/reflector.ts'
import type { Store } from '#shared/kube/store.ts'
import { createTransport, type Transport } from '#shared/kube/transport.ts'
import type { Log } from '#shared/log.ts'
import { withOwnMetadata } from '#shared/resources/cached.ts'
import { createClients } from '#shared/resources/clients.ts'
import { readDefinitionProblems } from '#shared/resources/definitionVersions.ts'
import { apiGroup, definitionResource, mapKinds, namespaceOf } from '#shared/resources/group.ts'
import type { ScalingProfiles } from '#shared/scalingProfiles.ts'
import type { Tracing } from '#shared/tracing/tracing.ts'
import { createClusterGate, whileAccepted } from './clusters/clusterGate.ts'
import { whileLeader } from './clusters/leader.ts'
import type { LagMetrics } from './metrics.ts'
import { createHostPortCheck } from './namespaces/hostPortCheck.ts'
import { createNamespaceClients, createNamespaces, type NamespaceOptions } from './namespaces/namespace.ts'
import type { NetworkOptions } from './namespaces/networkPolicies.ts'
import { repairNamespaces } from './namespaces/repair.ts'
import { createLogKeeper } from './pull/keepLogs.ts'
import { type PullDeps, pullKind } from './pull/pull.ts'
import { runWaitingStarts } from './pull/waitingStarts.ts'
import { createPush } from './push/push.ts'
import { type PushRowDeps, readPushable } from './push/pushRow.ts'
import { adapters } from './reconcile/adapters.ts'
import { createFindings } from './reconcile/findings.ts'
import type { Adapter, ReconcileDeps, Types } from './reconcile/kind.ts'
import { createEchoes } from './rows/echoes.ts'
import type { Kind } from './rows/synced.ts'
import { createSweeps } from './sweep/sweep.ts'

/** The part of the configuration that the sync needs. */
export type SyncConfig = {
  readonly database: { readonly url: string }
  /** The limits of organizations without their own. */
  readonly limits: Limits
  readonly rateLimits: { readonly startsPerMinute: number }
  readonly namespacePrefix: string
  readonly publicUrl: string
  readonly port: number
  readonly hostPorts: HostPorts
  readonly offersRoutes: boolean
  readonly clusterUsers: NamespaceOptions['users']
  readonly network: Pick<NetworkOptions, 'apiNetworks' | 'dnsNetworks'>
  /** The interval at which the admission policy of host ports is checked. */
  readonly hostPortCheckMs: number
  /** The longest wait before a failed push to the cluster is tried again. */
  readonly pushBackoffMaxMs: number
  readonly keepDeletedMs: number
}

/** The dependencies of the sync of every cluster. */
export type SyncOptions = {
  readonly db: Database
  readonly config: SyncConfig
  readonly profiles: ScalingProfiles
  readonly clock: Clock
  readonly newId: NewId
  readonly log: Log
  readonly tracing: Tracing
  /** The source of the ends of logs. */
  readonly logs: ClusterLogs
  readonly clusters: ClusterDirectory
}

/** The dependencies of the sync of one cluster. */
type ClusterSyncOptions = SyncOptions & {
  readonly cluster: string
  readonly credentials: Credentials
  readonly metrics: KubeMetrics
  readonly lag: LagMetrics
}

/**
 * Starts the sync of one cluster. Every replica pushes dirty rows to the cluster. One replica at a time pulls the observed
 * resources into the rows. Neither requests nor other clusters wait for it.
 */
export const startClusterSync = (options: ClusterSyncOptions) => {
  const { db, config, clock, log, cluster, metrics, lag, logs } = options
  const transport = createTransport({ credentials: options.credentials, userAgent: 'orrery-api', metrics })
  const clients = createClients(transport)
  const namespaceClients = createNamespaceClients(transport)
  const hostPortCheck = createHostPortCheck(namespaceClients, { clock, log, everyMs: config.hostPortCheckMs })
  const namespaces = createNamespaces(namespaceClients, {
    hostPortCheck,
    prefix: config.namespacePrefix,
    network: { publicUrl: config.publicUrl, apiPort: config.port, ...config.network },
    profiles: options.profiles,
    users: config.clusterUsers,
    readTenancy: (organizationId) => readTenancy(db, config.limits, organizationId),
    clock,
  })
  const events = createEvents(transport, { clock, log, metrics })
  const gate = createClusterGate({ db, namespaces: namespaceClients.namespaces, cluster, clock, log })
  const kinds = mapKinds((kind) => adapters[kind](createKindSync))
  const echoes = createEchoes(clock)
  const findings = createFindings({ db, cluster, events, log })
  const stop = new AbortController()
  const keeper = createLogKeeper({ db, logs: () => logs.of(cluster), clock, log, signal: stop.signal })
  const reconcile: ReconcileDeps = {
    ...options,
    clients,
    gate,
    events,
    findings,
    namespacePrefix: config.namespacePrefix,
    namespaces: namespaceClients.namespaces,
    definitions: createClient(transport, definitionResource),
    // The lock on the row and its version suffice for push, in any replica.
    transaction: (change) => db.transaction(change, beginsWithReads),
    noteRun: (row, live) => void (logs.isOffered(cluster) && keeper.note(row, live)),
    wake: () => push.wake(),
    defaultLimits: config.limits,
    startsPerMinute: config.rateLimits.startsPerMinute,
    hostPorts: config.hostPorts,
    offersRoutes: config.offersRoutes,
    clusterOf: options.clusters.clusterOf,
    keepDeletedMs: config.keepDeletedMs,
  }
  const push = createPush({
    reconcile,
    echoes,
    namespaces,
    random: Math.random,
    maxBackoffMs: config.pushBackoffMaxMs,
    onPushed: (seconds) => lag.observePush(cluster, seconds),
    readPushable: mapKinds((kind) => kinds[kind].readPushable),
  })
  const pullDeps = {
    ...reconcile,
    echoes,
    findings,
    metrics,
    lag,
    requestSweep: (kind: Kind) => kinds[kind].requestSweep(),
  }

  const election = { db, databaseUrl: config.database.url, cluster, clock, log }
  void logDefinitionProblems(reconcile.definitions, log)
  const pods = createClient(transport, podResource)
  const tenants = { clients: namespaceClients, namespaces, hostPortCheck, namespacePrefix: config.namespacePrefix }
  const pulling = whileLeader({ ...election, signal: stop.signal }, ({ signal: leading, transaction }) =>
    whileAccepted(gate, clock, leading, async (signal) => {
      await findings.load()
      echoes.clear()
      const deps = { ...pullDeps, transaction }
      await Promise.all([
        ...Object.values(kinds).map(({ run }) => run(deps, signal)),
        repairNamespaces({ ...options, ...tenants, resources: Object.values(clients), pods, signal }),
        runDue(deps, kinds.world, signal),
      ])
    }),
  )
  const checking = gate.run(stop.signal)
  const pushing = push.run(stop.signal)
  const recording = events.run(stop.signal)
  return {
    wake: push.wake,
    isRefused: gate.isRefused,
    stop: async (): Promise<void> => {
      stop.abort()
      await Promise.all([pushing, pulling, recording, checking])
      await transport.close()
    },
  }
}

/** Begins the starts that wait, and does what schedules ask for, in the rows that the cluster is not ahead of. */
const runDue = async (
  deps: ReconcileDeps,
  { isBehind }: { readonly isBehind: (key: string, revision: number) => boolean },
  signal: AbortSignal,
): Promise<void> => {
  const nameOf = ({ organizationId, resourceName: name }: WorldRow) =>
    objectKey({ namespace: namespaceOf(deps.namespacePrefix, organizationId), name })
  const due = { ...deps, wakeSync: deps.wake, isBehind: (row: WorldRow) => isBehind(nameOf(row), row.revision) }
  await Promise.all([runWaitingStarts(due, signal), runSchedules(due, signal)])
}

/** Creates the sync of one kind with one cluster. */
const createKindSync = <T extends Types>(adapter: Adapter<T>) => {
  const sweeps = createSweeps()
  /** The cache of pull. There is none while this replica does not pull. */
  let store: Pick<Store<T['live']>, 'get'> | undefined
  /** True once the cache has had every resource. */
  let isFull = false
  return {
    requestSweep: sweeps.request,
    /** Reports whether a resource has a higher revision, or may have. `key` is its `namespace/name`. */
    isBehind: (key: string, revision: number): boolean => !isFull || (store?.get(key)?.spec.revision ?? 0) > revision,
    readPushable: (deps: PushRowDeps, ids: readonly string[]) =>
      readPushable(adapter, deps, (key) => store?.get(key), ids),
    /** Pulls and sweeps the resources for as long as this replica leads. */
    run: async (deps: PullDeps, signal: AbortSignal): Promise<void> => {
      const { clock, log, metrics } = deps
      const client = adapter.clientOf(deps)
      const cache = createReflector({ client, clock, random: Math.random, log, metrics, keep: withOwnMetadata })
      const pulling = pullKind(adapter, deps, cache, signal)
      store = cache.store
      const caching = cache.run(signal)
      await cache.synced({ timeoutMs: Number.MAX_SAFE_INTEGER, signal }).catch(() => undefined)
      isFull = !signal.aborted
      const swept = {
        kind: adapter.kind,
        resource: client.resource,
        cached: () => cache.store.list(),
        list: async () => (await client.list({ keep: withOwnMetadata, signal })).items,
      }
      await sweeps.run(deps, swept, signal)
      await Promise.all([caching, pulling])
      store = undefined
      isFull = false
    },
  }
}

const createEvents = (
  transport: Transport,
  { clock, log, metrics }: { clock: Clock; log: Log; metrics: KubeMetrics },
) =>
  createEventRecorder({
    client: createClient(transport, eventResource),
    controller: `${apiGroup}/api`,
    instance: hostname(),
    clock,
    random: Math.random,
    log,
    metrics: metrics.events,
  })

const podResource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod' }

/** Logs each definition that does not fit this version. REST works without the cluster, so none of them ends the API. */
const logDefinitionProblems = async (definitions: Client<KubeObject>, log: Log): Promise<void> => {
  try {
    for (const { definition, message } of await readDefinitionProblems(definitions)) log.error({ definition }, message)
  } catch (error) {
    log.warn({ err: error }, 'cannot check the versions of the definitions')
  }
}
