import { worldKeyOf } from '#operator/lifecycle/execute/botCache.ts'
import {
  acknowledgementPace,
  createResourceController,
  onDigestChange,
} from '#operator/lifecycle/execute/controller.ts'
import { trackDeletedUids } from '#operator/lifecycle/execute/deletedUids.ts'
import { createRunClock } from '#operator/lifecycle/runClock.ts'
import type { Tails } from '#operator/logs/tails.ts'
import { pickCachedFields } from '#operator/pods/cachedFields.ts'
import { type HttpRoute, pickRoute } from '#operator/pods/httpRoute.ts'
import { type Node, nodeDigest } from '#operator/pods/node.ts'
import type { Pod } from '#operator/pods/pod.ts'
import type { Service } from '#operator/pods/service.ts'
import type { Clock } from '#shared/clock.ts'
import type { Client } from '#shared/kube/client.ts'
import type { EventRecorder } from '#shared/kube/events.ts'
import type { KubeMetrics } from '#shared/kube/metrics.ts'
import { type KubeObject, objectKey } from '#shared/kube/objects.ts'
import { createPacedKeys } from '#shared/kube/pace.ts'
import type { Backoff, Priority } from '#shared/kube/queue.ts'
import { createReflector, type Reflector } from '#shared/kube/reflector.ts'
import { createTextSharing } from '#shared/kube/texts.ts'
import type { Log } from '#shared/log.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import { operatorPart, ownNamespace } from '#shared/resources/cached.ts'
import { isPaused } from '#shared/resources/group.ts'
import { readPolicy } from '#shared/resources/namespacePolicy.ts'
import { cacheSelectors } from '#shared/resources/selectors.ts'
import { readWorldSpec, type World } from '#shared/resources/world.ts'
import type { Tracing } from '#shared/tracing/tracing.ts'
import { createHostPortUse } from '../hostPorts.ts'
import { keepsAwake } from '../idle.ts'
import { createPortPools } from '../portPools.ts'
import { isServiceOf } from '../service.ts'
import type { WorldSettings } from '../settings.ts'
import type { AskServer } from './askServer.ts'
import { createHostPortPolicy } from './hostPortPolicy.ts'
import { podChangePriority, worldChangePriority } from './priority.ts'
import { createQueuePoll } from './queuePoll.ts'
import { reconcileWorld } from './reconcile.ts'
import { createStateAge } from './stateAge.ts'

// With 24 to 64 workers, bursts of 1,000 worlds are faster in most runs, but can take 4 writes for each world instead of 3, and 5 MiB
// more.
const workers = 20
const byNode = 'node'
const byNamespace = 'namespace'

type Options = {
  worlds: Client<World>
  pods: Client<Pod>
  services: Client<Service>
  /** Undefined if no setting names a Gateway. */
  routes: Client<HttpRoute> | undefined
  endpointSlices: Client<KubeObject>
  nodes: Client<Node>
  namespaces: Client<KubeObject>
  /** The cache of BotDeployments, which their controller runs. */
  bots: Reflector<BotDeployment>
  settings: WorldSettings
  queuePollMs: number
  queueWriteMs: number
  askServer: AskServer
  /** Keeps the ends of the logs of servers; undefined if there is no log server. */
  tails: Pick<Tails, 'keep'> | undefined
  backoff: Backoff
  clock: Clock
  random: () => number
  newRunId: () => string
  events: Pick<EventRecorder, 'record'>
  tracing: Tracing
  log: Log
  metrics: KubeMetrics
}

/** Creates the controller of Worlds, from caches of Worlds, their pods and services, and nodes. */
export const createWorldController = (options: Options) => {
  const { clock, random, log, settings, newRunId, events } = options
  const caches = createCaches(options)
  const { worlds, pods, services, nodes, namespaces, routes } = caches
  const queuePoll = createQueuePoll({
    ask: options.askServer,
    clock,
    random,
    changed: (key, isUrgent) => controller.enqueue(key, { priority: isUrgent ? 'normal' : 'low' }),
    timing: { intervalMs: options.queuePollMs, writeMs: options.queueWriteMs },
  })
  const deps = {
    worlds: { client: options.worlds, cache: worlds },
    deletedWorlds: trackDeletedUids(worlds),
    pods: { client: options.pods, cache: pods },
    services: { client: options.services, cache: services },
    routes: options.routes && routes && { client: options.routes, cache: routes },
    endpointSlices: options.endpointSlices,
    serviceAge: createStateAge(clock),
    portPools: createPortPools(),
    hostPorts: createHostPortUse(settings.hostPorts),
    hostPortPolicy: createHostPortPolicy(options.pods, clock),
    nodes: { client: options.nodes, cache: nodes },
    namespaces: { client: options.namespaces, cache: namespaces },
    bots: options.bots,
    runClock: createRunClock(clock),
    acknowledgements: createPacedKeys(clock, acknowledgementPace),
    queuePoll,
    tails: options.tails,
    settings,
    newRunId,
    events,
    tracing: options.tracing,
    log,
  }
  const controller = createResourceController({
    name: 'world',
    workers,
    reconcile: (key, { signal }) => reconcileWorld(deps, key, signal),
    ownCaches: [worlds, pods, services, nodes, namespaces, ...(routes ? [routes] : [])],
    // All worlds wait for this list: without the bots, a world that they keep awake would end.
    otherCaches: [options.bots],
    sizes: () => ({ worlds: worlds.store.size }),
    backoff: options.backoff,
    clock,
    log,
    metrics: options.metrics,
  })
  const observePorts = (key: string): void => {
    const service = services.store.get(key)
    const { run, address } = worlds.store.get(key)?.status ?? {}
    const isOfRun = service !== undefined && run !== undefined && isServiceOf(service, run.id)
    deps.portPools.observe(key, service, isOfRun ? address?.host : undefined)
  }
  services.onChange(({ key }) => observePorts(key))
  pods.onChange(({ key }) => deps.hostPorts.observe(key, pods.store.get(key)))
  // At the start, a Service may be known before its World.
  worlds.onChange(({ key, initial }) => {
    if (initial && services.store.get(key) !== undefined) observePorts(key)
  })
  enqueueChanges(caches, controller.enqueue)
  onDigestChange(options.bots, awakeDigest, (bots) => {
    const key = worldKeyOf(bots)
    if (worlds.store.get(key)?.spec.idleStopMinutes !== undefined) controller.enqueue(key, { priority: 'low' })
  })
  return {
    ...controller,
    /** The caches that the metrics or the bots' controller read too. */
    worlds,
    pods,
    namespaces,
    reconcile: async (signal: AbortSignal): Promise<void> => {
      await controller.reconcile(signal)
      queuePoll.close()
    },
  }
}

const createCaches = ({ clock, random, log, metrics, ...clients }: Options) => {
  const common = { clock, random, log, metrics }
  const shareTexts = createTextSharing()
  return {
    worlds: createReflector({
      ...common,
      client: clients.worlds,
      keep: (world: World) => shareTexts(operatorPart(world, readWorldSpec)),
      indexers: { [byNamespace]: ({ metadata }) => [metadata.namespace ?? ''] },
    }),
    // A stranger without our label is not cached; the API server reports it when ours is created.
    pods: createReflector({
      ...common,
      client: clients.pods,
      keep: (pod: Pod) => shareTexts(pickCachedFields(pod)),
      labelSelector: cacheSelectors.servers,
      indexers: { [byNode]: ({ spec }) => (spec?.nodeName === undefined ? [] : [spec.nodeName]) },
    }),
    services: createReflector({ ...common, client: clients.services, labelSelector: cacheSelectors.services }),
    routes:
      clients.routes &&
      createReflector({
        ...common,
        client: clients.routes,
        keep: (route: HttpRoute) => shareTexts(pickRoute(route)),
        labelSelector: cacheSelectors.routes,
        isOptional: true,
      }),
    nodes: createReflector({ ...common, client: clients.nodes }),
    namespaces: createReflector({ ...common, client: clients.namespaces, keep: ownNamespace }),
  }
}

type Enqueue = (key: string, options?: { priority?: Priority }) => void

/**
 * Enqueues the worlds that a change concerns. Spec changes have another priority than changes of pods, services and nodes, so
 * that many starts do not delay the handling of failures, and vice versa. Objects of a full list and the first states of a pod
 * have low priority.
 */
const enqueueChanges = (
  { worlds, pods, services, routes, nodes, namespaces }: ReturnType<typeof createCaches>,
  enqueue: Enqueue,
): void => {
  onDigestChange(worlds, intentDigest, (world, change) =>
    enqueue(objectKey(world), { priority: worldChangePriority(change) }),
  )
  // Pods, services and routes have their world's name, so their key is the world's.
  pods.onChange((change) => enqueue(change.key, { priority: podChangePriority(change) }))
  services.onChange(({ key, initial }) => enqueue(key, { priority: initial ? 'low' : 'normal' }))
  routes?.onChange(({ key, initial }) => enqueue(key, { priority: initial ? 'low' : 'normal' }))
  // Changes from a full list count too: a namespace may have been closed during a gap of the watch.
  onDigestChange(namespaces, policyDigest, ({ metadata }) => {
    for (const world of worlds.store.byIndex(byNamespace, metadata.name)) enqueue(objectKey(world), { priority: 'low' })
  })
  nodes.onChange((change) => {
    if (change.type === 'updated' && nodeDigest(change.object) === nodeDigest(change.old)) return
    for (const pod of pods.store.byIndex(byNode, change.object.metadata.name)) {
      enqueue(objectKey(pod.metadata))
    }
  })
}

/** Returns a digest of the fields of a World that other writers change. */
const intentDigest = (world: World): string => {
  const { uid, generation, deletionTimestamp, finalizers = [] } = world.metadata
  return [uid, generation, deletionTimestamp, isPaused(world), finalizers.join()].join('/')
}

/** Returns a digest of the fields that decide whether bots keep a world awake. */
const awakeDigest = (bots: BotDeployment): string => {
  const runId = bots.status?.run?.id
  return [bots.metadata.uid, runId, keepsAwake(bots, runId)].join('/')
}

/** Returns a digest of the policy of a namespace. */
const policyDigest = ({ metadata }: KubeObject): string => JSON.stringify(readPolicy(metadata))
