import { hostname } from 'node:os'
import { Gauge, type Registry } from 'prom-client'
import type { Database } from '#api/platform/database/client.ts'
import { type Clock, sleep } from '#shared/clock.ts'
import type { NewId } from '#shared/ids.ts'
import { type Client, createClient } from '#shared/kube/client.ts'
import type { Credentials } from '#shared/kube/config.ts'
import { createController } from '#shared/kube/controller.ts'
import { createEventRecorder, eventResource } from '#shared/kube/events.ts'
import { createKubeMetrics } from '#shared/kube/metrics.ts'
import { type KubeObject, objectKey } from '#shared/kube/objects.ts'
import { createReflector } from '#shared/kube/reflector.ts'
import { createTransport, type Transport } from '#shared/kube/transport.ts'
import type { Log } from '#shared/log.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import { withOwnMetadata } from '#shared/resources/cached.ts'
import { apiGroup, botDeploymentResource, worldResource } from '#shared/resources/group.ts'
import type { World } from '#shared/resources/world.ts'
import { whileLeader } from './leader.ts'
import { createNamespaces, type NamespaceClients, type NamespaceOptions } from './namespace.ts'
import type { NetworkOptions } from './networkPolicies.ts'
import { outboxDepth, type PullDeps, pullVanished, pullWorld } from './pull.ts'
import { pullBots } from './pullBots.ts'
import { createPush } from './push.ts'
import { repairNamespaces } from './repair.ts'
import { createStrangers } from './strangers.ts'
import type { Kind } from './synced.ts'

const pullWorkers = 8
const pullTimeoutMs = 60_000

/** The part of the configuration that the sync needs. */
type SyncConfig = {
  readonly database: { readonly url: string }
  readonly cluster: { readonly name: string }
  readonly namespacePrefix: string
  readonly publicUrl: string
  readonly port: number
  readonly clusterUsers: NamespaceOptions['users']
  readonly network: Pick<NetworkOptions, 'apiNetworks' | 'dnsNetworks'>
  /** The longest wait before a failed push to the cluster is tried again. */
  readonly pushBackoffMaxMs: number
}

/** The dependencies of the sync. */
export type SyncOptions = {
  readonly db: Database
  readonly credentials: Credentials
  readonly config: SyncConfig
  readonly clock: Clock
  readonly newId: NewId
  readonly log: Log
  readonly registry: Registry
}

/**
 * Keeps rows and resources in step: push brings dirty rows to the cluster in every replica, pull brings what the
 * cluster shows into the rows in one replica at a time. No request waits for either.
 */
export const startClusterSync = (options: SyncOptions) => {
  const { db, config, clock, log, registry } = options
  const metrics = createKubeMetrics(registry)
  const transport = createTransport({ credentials: options.credentials, userAgent: 'orrery-api', metrics })
  const worlds = createClient<World>(transport, worldResource)
  const bots = createClient<BotDeployment>(transport, botDeploymentResource)
  const clients = namespaceClients(transport)
  const namespaces = createNamespaces(clients, {
    prefix: config.namespacePrefix,
    network: { publicUrl: config.publicUrl, apiPort: config.port, ...config.network },
    users: config.clusterUsers,
    clock,
  })
  const push = createPush({
    ...{ db, worlds, bots, namespaces, clock, log },
    namespacePrefix: config.namespacePrefix,
    random: Math.random,
    maxBackoffMs: config.pushBackoffMaxMs,
  })
  const events = createEventRecorder({
    client: createClient(transport, eventResource),
    controller: `${apiGroup}/api`,
    instance: hostname(),
    ...{ clock, random: Math.random, log, metrics: metrics.events },
  })
  const pullDeps: PullDeps = {
    ...{ ...options, worlds, bots, cluster: config.cluster.name, wake: push.wake },
    namespacePrefix: config.namespacePrefix,
    strangers: createStrangers({ events, log, registry }),
  }
  new Gauge({
    name: 'orrery_outbox_depth',
    help: 'Rows that wait to be pushed to the cluster.',
    registers: [registry],
    async collect() {
      this.set(await outboxDepth(db).catch(() => Number.NaN))
    },
  })

  const stop = new AbortController()
  const pulling = whileLeader({ databaseUrl: config.database.url, clock, log, signal: stop.signal }, (signal) =>
    Promise.all([
      runPull(pullDeps, { ...options, metrics, signal }),
      repairNamespaces({
        ...{ db, clients, namespaces, clock, log, metrics, signal },
        namespacePrefix: config.namespacePrefix,
      }),
    ]).then(() => undefined),
  )
  const pushing = push.run(stop.signal)
  const recording = events.run(stop.signal)
  return {
    wake: push.wake,
    stop: async (): Promise<void> => {
      stop.abort()
      await Promise.all([pushing, pulling, recording])
      await transport.close()
    },
  }
}

const namespaceClients = (transport: Transport): NamespaceClients => {
  const authorization = { group: 'authorization.k8s.io', version: 'v1' }
  return {
    namespaces: createClient(transport, { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace' }),
    networkPolicies: createClient(transport, {
      ...{ group: 'networking.k8s.io', version: 'v1' },
      ...{ plural: 'networkpolicies', kind: 'NetworkPolicy' },
    }),
    roleBindings: createClient(transport, {
      ...{ group: 'rbac.authorization.k8s.io', version: 'v1' },
      ...{ plural: 'rolebindings', kind: 'RoleBinding' },
    }),
    accessReviews: createClient(transport, {
      ...authorization,
      ...{ plural: 'subjectaccessreviews', kind: 'SubjectAccessReview' },
    }),
    selfAccessReviews: createClient(transport, {
      ...authorization,
      ...{ plural: 'selfsubjectaccessreviews', kind: 'SelfSubjectAccessReview' },
    }),
  }
}

type PullOptions = SyncOptions & { metrics: ReturnType<typeof createKubeMetrics>; signal: AbortSignal }

/** Pulls for as long as this replica leads. */
const runPull = async (deps: PullDeps, options: PullOptions): Promise<void> => {
  await Promise.all([
    pullKind('world', deps, options, deps.worlds, (key, live) => pullWorld(deps, key, live)),
    pullKind('bot', deps, options, deps.bots, (key, live) => pullBots(deps, key, live)),
  ])
}

/** A cache of one kind feeds a queue of keys. */
const pullKind = async <T extends KubeObject>(
  kind: Kind,
  deps: PullDeps,
  { clock, log, metrics, signal }: PullOptions,
  client: Client<T>,
  pull: (key: string, live: T | undefined) => Promise<void>,
): Promise<void> => {
  const cache = createReflector({ client, clock, random: Math.random, log, metrics, keep: withOwnMetadata })
  const controller = createController({
    name: `pull-${kind}`,
    workers: pullWorkers,
    reconcile: async (key) => {
      await pull(key, cache.store.get(key))
      return undefined
    },
    reconcileTimeoutMs: pullTimeoutMs,
    backoff: { baseMs: 50, maxMs: 10_000 },
    clock,
    log,
    metrics,
  })
  cache.onChange(({ key, initial }) => controller.enqueue(key, { lowPriority: initial }))
  const caching = cache.run(signal)
  const working = controller.run(signal)
  await cache.synced({ timeoutMs: Number.MAX_SAFE_INTEGER, signal }).catch(() => undefined)
  while (!signal.aborted) {
    const present = new Set(cache.store.list().map(objectKey))
    await pullVanished(deps, kind, present).catch((error: unknown) =>
      log.warn({ kind, err: error }, 'pull: the sweep failed'),
    )
    await sleep(clock, sweepMs, signal)
  }
  await Promise.all([caching, working])
}

/** The interval for comparing rows with the cache, in case an event of a deletion was missed. */
const sweepMs = 300_000
