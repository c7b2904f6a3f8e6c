import { hostname } from 'node:os'
import type { Limits } from '#api/domain/access/limits.ts'
import { readTenancy } from '#api/domain/organizations/limits/service.ts'
import type { ClusterDirectory } from '#api/domain/worlds/place.ts'
import { beginsWithReads, type Database } from '#api/platform/database/client.ts'
import type { ClusterLogs } from '#api/platform/logs/clusterLogs.ts'
import { type Clock, sleep } from '#shared/clock.ts'
import type { NewId } from '#shared/ids.ts'
import { type Client, createClient } from '#shared/kube/client.ts'
import type { Credentials } from '#shared/kube/config.ts'
import { createController, type Result } from '#shared/kube/controller.ts'
import { createEventRecorder, eventResource } from '#shared/kube/events.ts'
import type { KubeMetrics } from '#shared/kube/metrics.ts'
import { type KubeObject, objectKey } from '#shared/kube/objects.ts'
import { createPacedKeys } from '#shared/kube/pace.ts'
import { createReflector } from '#shared/kube/reflector.ts'
import type { Store } from '#shared/kube/store.ts'
import { createTransport, type Transport } from '#shared/kube/transport.ts'
import type { Log } from '#shared/log.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import { withOwnMetadata } from '#shared/resources/cached.ts'
import { readDefinitionProblems } from '#shared/resources/definitionVersions.ts'
import { apiGroup, botDeploymentResource, definitionResource, worldResource } from '#shared/resources/group.ts'
import type { World } from '#shared/resources/world.ts'
import type { ScalingProfiles } from '#shared/scalingProfiles.ts'
import type { Tracing } from '#shared/tracing/tracing.ts'
import { createClusterGate, whileAccepted } from './clusters/clusterGate.ts'
import { whileLeader } from './clusters/leader.ts'
import type { LagMetrics } from './metrics.ts'
import { createNamespaceClients, createNamespaces, type NamespaceOptions } from './namespaces/namespace.ts'
import type { NetworkOptions } from './namespaces/networkPolicies.ts'
import { repairNamespaces } from './namespaces/repair.ts'
import { createFindings } from './pull/findings.ts'
import { createLogKeeper, type LogKeeper } from './pull/keepLogs.ts'
import { isNewResource } from './pull/newResource.ts'
import { pullBots } from './pull/pullBots.ts'
import type { PullDeps } from './pull/pullDeps.ts'
import { pullWorld } from './pull/pullWorld.ts'
import { isNotSynced, mayBeAllowed } from './pull/syncedCondition.ts'
import { startWaiting } from './pull/waitingStarts.ts'
import { createPush } from './push/push.ts'
import { createEchoes } from './rows/echoes.ts'
import { organizationOf } from './rows/identity.ts'
import type { Kind } from './rows/synced.ts'
import { createSweeps } from './sweep/sweep.ts'

const pullWorkers = 10
const pullTimeoutMs = 60_000
/** The rate at which one resource is pulled. Edits in between are merged together. */
const pullPace = { burst: 10, refillMs: 500 }
/** The rate in one namespace at which adoptions are tried again that were refused. */
const adoptionPace = { burst: 20, refillMs: 100 }

/** The part of the configuration that the sync needs. */
export type SyncConfig = {
  readonly database: { readonly url: string }
  /** The limits of organizations without their own. */
  readonly limits: Limits
  readonly rateLimits: { readonly startsPerMinute: number }
  readonly namespacePrefix: string
  readonly publicUrl: string
  readonly port: number
  readonly clusterUsers: NamespaceOptions['users']
  readonly network: Pick<NetworkOptions, 'apiNetworks' | 'dnsNetworks'>
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
  const worlds = createClient<World>(transport, worldResource)
  const bots = createClient<BotDeployment>(transport, botDeploymentResource)
  const clients = createNamespaceClients(transport)
  const namespaces = createNamespaces(clients, {
    prefix: config.namespacePrefix,
    network: { publicUrl: config.publicUrl, apiPort: config.port, ...config.network },
    profiles: options.profiles,
    users: config.clusterUsers,
    readTenancy: (organizationId) => readTenancy(db, config.limits, organizationId),
    clock,
  })
  const events = createEvents(transport, { clock, log, metrics })
  const gate = createClusterGate({ db, namespaces: clients.namespaces, cluster, clock, log })
  const sweeps = { world: createSweeps(), bot: createSweeps() }
  const echoes = createEchoes(clock)
  const caches: Caches = { world: {}, bot: {} }
  const stop = new AbortController()
  const keeper = createLogKeeper({ db, logs: () => logs.of(cluster), clock, log, signal: stop.signal })
  const common = { worlds, bots, echoes, gate, cluster, namespacePrefix: config.namespacePrefix }
  const pullDeps = {
    ...options,
    ...common,
    logKeeper: { note: (row, live) => void (logs.isOffered(cluster) && keeper.note(row, live)) } satisfies LogKeeper,
    requestSweep: (kind: Kind) => sweeps[kind].request(),
    namespaces: clients.namespaces,
    definitions: createClient(transport, definitionResource),
    wake: () => push.wake(),
    defaultLimits: config.limits,
    startsPerMinute: config.rateLimits.startsPerMinute,
    clusterOf: options.clusters.clusterOf,
    events,
    keepDeletedMs: config.keepDeletedMs,
    findings: createFindings({ db, cluster, events, log }),
  }
  const mergeDeps = mergeDepsOf(pullDeps)
  const push = createPush({
    ...common,
    db,
    namespaces,
    tracing: options.tracing,
    clock,
    log,
    random: Math.random,
    maxBackoffMs: config.pushBackoffMaxMs,
    onPushed: (seconds) => lag.observePush(cluster, seconds),
    cached: { world: (key) => caches.world.store?.get(key), bot: (key) => caches.bot.store?.get(key) },
    merge: {
      world: async (live) => void (await pullWorld(mergeDeps, objectKey(live), live)),
      bot: async (live) => void (await pullBots(mergeDeps, objectKey(live), live)),
    },
  })

  const election = { db, databaseUrl: config.database.url, cluster, clock, log }
  void logDefinitionProblems(pullDeps.definitions, log)
  const pods = createClient(transport, podResource)
  const repair = { clients, resources: [worlds, bots], pods, namespaces, clock, log, metrics }
  const { namespacePrefix } = config
  const pulling = whileLeader({ ...election, signal: stop.signal }, ({ signal: leading, transaction }) =>
    whileAccepted(gate, clock, leading, async (signal) => {
      await pullDeps.findings.load()
      echoes.clear()
      await Promise.all([
        runPull({ ...pullDeps, transaction }, { ...options, sweeps, caches, lag, metrics, signal }),
        repairNamespaces({ ...repair, namespacePrefix, signal }),
        repeat(clock, { everyMs: waitingPollMs, signal }, () => startWaiting({ ...pullDeps, transaction })),
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

/** Returns the dependencies with which push merges, in any replica: the lock on the row and its version suffice. */
const mergeDepsOf = (deps: Omit<PullDeps, 'transaction'>): PullDeps => ({
  ...deps,
  transaction: (change) => deps.db.transaction(change, beginsWithReads),
  // Push merges every version that the row has not recorded, also its own.
  echoes: { has: async () => false, pulled: () => undefined },
  // Only the leader knows whether a finding is still true.
  findings: { ...deps.findings, forget: async () => undefined },
})

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

/** The cache of pull for a kind. It has no store while this replica does not pull. */
type Cache<T> = { store?: Pick<Store<T>, 'get'> }

type Caches = { readonly world: Cache<World>; readonly bot: Cache<BotDeployment> }

type PullOptions = Pick<ClusterSyncOptions, 'clock' | 'log' | 'metrics' | 'lag'> & {
  readonly sweeps: Record<Kind, ReturnType<typeof createSweeps>>
  readonly caches: Caches
  readonly signal: AbortSignal
}

/** Pulls for as long as this replica leads. */
const runPull = async (deps: PullDeps, options: PullOptions): Promise<void> => {
  const { world, bot } = options.caches
  await Promise.all([
    pullKind({ kind: 'world', client: deps.worlds, shared: world }, deps, options, (key, live) =>
      pullWorld(deps, key, live),
    ),
    pullKind({ kind: 'bot', client: deps.bots, shared: bot }, deps, options, (key, live) => pullBots(deps, key, live)),
  ])
}

/** Pulls the resources of one kind: changes of the cache put keys in a queue, and workers pull these. */
const pullKind = async <T extends KubeObject & { spec: object }>(
  { kind, client, shared }: { kind: Kind; client: Client<T>; shared: Cache<T> },
  deps: PullDeps,
  { sweeps, lag, clock, log, metrics, signal }: PullOptions,
  pull: (key: string, live: T | undefined) => Promise<Result>,
): Promise<void> => {
  const timer = lag.pullTimer(deps.cluster)
  const cache = createReflector({ client, clock, random: Math.random, log, metrics, keep: withOwnMetadata })
  const adoptions = createPacedKeys(clock, adoptionPace)
  const isUnadopted = (live: T): boolean =>
    isNewResource(live) && organizationOf(deps.namespacePrefix, live.metadata.namespace) !== undefined
  const controller = createController({
    name: `pull-${kind}`,
    workers: pullWorkers,
    reconcile: async (key) => {
      const live = cache.store.get(key)
      const wasRefused = live !== undefined && isUnadopted(live) && isNotSynced(live)
      if (!wasRefused) adoptions.forget(key)
      const waitMs = wasRefused ? adoptions.waitMs(key) : 0
      if (waitMs > 0) return { requeueAfterMs: waitMs, priority: 'low' }
      const result = await pull(key, live)
      timer.end(key)
      return result
    },
    reconcileTimeoutMs: pullTimeoutMs,
    backoff: { baseMs: 50, maxMs: 10_000 },
    pace: pullPace,
    clock,
    log,
    metrics,
  })
  cache.onChange(({ key, initial }) => {
    timer.begin(key)
    controller.enqueue(key, { priority: initial ? 'low' : 'normal' })
  })
  shared.store = cache.store
  const caching = cache.run(signal)
  const working = controller.run(signal)
  await cache.synced({ timeoutMs: Number.MAX_SAFE_INTEGER, signal }).catch(() => undefined)
  const retrying = repeat(clock, { everyMs: adoptionSweepMs, signal }, async () => {
    for (const live of cache.store.list())
      if (isUnadopted(live) || mayBeAllowed(live)) controller.enqueue(objectKey(live), { priority: 'low' })
    // What resolves a finding may change only the row, which pull does not see.
    for (const key of deps.findings.keys(kind)) controller.enqueue(key, { priority: 'low' })
  })
  const swept = {
    kind,
    resource: client.resource,
    cached: () => cache.store.list(),
    list: async () => (await client.list({ keep: withOwnMetadata, signal })).items,
  }
  await sweeps[kind].run(deps, swept, signal)
  await Promise.all([caching, working, retrying])
  delete shared.store
}

/** Repeats an action until the signal is aborted, with a pause after each time. */
const repeat = async (
  clock: Clock,
  { everyMs, signal }: { everyMs: number; signal: AbortSignal },
  act: () => Promise<void>,
): Promise<void> => {
  while (!signal.aborted) {
    await act()
    await sleep(clock, everyMs, signal)
  }
}

/** The interval for looking for room for the starts that wait. */
const waitingPollMs = 250

/** The interval for looking at resources again that kubectl created and that have no row yet. */
const adoptionSweepMs = 15_000

/** Logs each definition that does not fit this version. REST works without the cluster, so none of them ends the API. */
const logDefinitionProblems = async (definitions: Client<KubeObject>, log: Log): Promise<void> => {
  try {
    for (const { definition, message } of await readDefinitionProblems(definitions)) log.error({ definition }, message)
  } catch (error) {
    log.warn({ err: error }, 'cannot check the versions of the definitions')
  }
}
