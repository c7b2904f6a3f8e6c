import { podPart } from '#operator/podPart.ts'
import { createRunClock } from '#operator/runClock.ts'
import type { Clock } from '#shared/clock.ts'
import type { Client } from '#shared/kube/client.ts'
import { createController } from '#shared/kube/controller.ts'
import type { EventRecorder } from '#shared/kube/events.ts'
import type { KubeMetrics } from '#shared/kube/metrics.ts'
import { objectKey } from '#shared/kube/objects.ts'
import type { Backoff } from '#shared/kube/queue.ts'
import { createReflector } from '#shared/kube/reflector.ts'
import type { Log } from '#shared/log.ts'
import { operatorWorld } from '#shared/resources/cached.ts'
import { isPaused, labels } from '#shared/resources/group.ts'
import type { World } from '#shared/resources/world.ts'
import type { AskServer } from './askServer.ts'
import { type Node, nodeDigest } from './node.ts'
import type { Pod } from './pod.ts'
import { createQueuePoll } from './queuePoll.ts'
import { reconcileWorld } from './reconcile.ts'
import type { Service } from './service.ts'
import type { WorldSettings } from './settings.ts'

const workers = 16
const reconcileTimeoutMs = 60_000
/** How long the first lists may take before the operator says that it waits for the API server. */
const firstListMs = 3_600_000
const byNode = 'node'

type Options = {
  worlds: Client<World>
  pods: Client<Pod>
  services: Client<Service>
  nodes: Client<Node>
  settings: WorldSettings
  /** How often an Active server is asked for its queue. */
  queuePollMs: number
  askServer: AskServer
  backoff: Backoff
  clock: Clock
  random: () => number
  newRunId: () => string
  events: Pick<EventRecorder, 'record'>
  log: Log
  metrics: KubeMetrics
}

/**
 * Keeps every World as its spec asks: caches of Worlds and of what belongs to them feed one queue of keys. `follow` keeps
 * caches and queue full, also in a standby that writes nothing; `reconcile` works off the queue, in the one process that
 * leads.
 */
export const createWorldController = (options: Options) => {
  const { clock, random, log, metrics } = options
  const caches = createCaches(options)
  const { worlds, pods, services, nodes } = caches
  const queue = createQueuePoll({
    ask: options.askServer,
    clock,
    random,
    changed: (key) => controller.enqueue(key),
    timing: { intervalMs: options.queuePollMs },
  })
  const deps = {
    worlds: { client: options.worlds, cache: worlds },
    pods: { client: options.pods, cache: pods },
    services: { client: options.services, cache: services },
    nodes: { client: options.nodes, cache: nodes },
    queue,
    runClock: createRunClock(clock),
    settings: options.settings,
    newRunId: options.newRunId,
    events: options.events,
    log,
  }
  const controller = createController({
    name: 'world',
    workers,
    reconcile: (key, { signal }) => reconcileWorld(deps, key, signal),
    reconcileTimeoutMs,
    backoff: options.backoff,
    clock,
    log,
    metrics,
  })
  feed(caches, controller.enqueue)
  const all = [worlds, pods, services, nodes]
  return {
    /** The Worlds, for what else depends on them. */
    worlds,
    ready: (): boolean => all.every((cache) => cache.hasSynced()),
    follow: async (signal: AbortSignal): Promise<void> => {
      await Promise.all(all.map((cache) => cache.run(signal)))
    },
    reconcile: async (signal: AbortSignal): Promise<void> => {
      await Promise.all(all.map((cache) => cache.synced({ timeoutMs: firstListMs, signal })))
      if (!signal.aborted) log.info({ worlds: worlds.store.list().length }, 'the caches are full: reconciling')
      await controller.run(signal)
      queue.stop()
    },
  }
}

const createCaches = ({ clock, random, log, metrics, ...clients }: Options) => {
  const common = { clock, random, log, metrics }
  // A stranger's pod or service of a world's name has no label and is not seen here; making our own is then refused.
  const ours = { ...common, labelSelector: labels.world }
  return {
    worlds: createReflector({ ...common, client: clients.worlds, keep: operatorWorld }),
    pods: createReflector({
      ...common,
      client: clients.pods,
      keep: podPart,
      labelSelector: `${labels.world},!${labels.botDeployment}`,
      indexers: { [byNode]: ({ spec }) => (spec?.nodeName === undefined ? [] : [spec.nodeName]) },
    }),
    services: createReflector({ ...ours, client: clients.services }),
    nodes: createReflector({ ...common, client: clients.nodes }),
  }
}

type Enqueue = (key: string, options?: { lowPriority?: boolean }) => void

/**
 * What changes in the caches brings the worlds that it concerns to the queue. What somebody asked for goes before what has
 * happened since: in a rush every server is under way before the first is reported on.
 */
const feed = ({ worlds, pods, services, nodes }: ReturnType<typeof createCaches>, enqueue: Enqueue): void => {
  const seen = new Map<string, string>()
  worlds.onChange((change) => {
    const intent = intentOf(change.object)
    if (change.type !== 'deleted' && seen.get(change.key) === intent) return
    if (change.type === 'deleted') seen.delete(change.key)
    else seen.set(change.key, intent)
    enqueue(change.key, { lowPriority: change.initial })
  })
  // Pods and services bear their world's name, so their key is the world's key.
  for (const cache of [pods, services]) {
    cache.onChange((change) => enqueue(objectKey(change.object.metadata), { lowPriority: true }))
  }
  nodes.onChange((change) => {
    if (change.type === 'updated' && nodeDigest(change.object) === nodeDigest(change.old)) return
    for (const pod of pods.store.byIndex(byNode, change.object.metadata.name)) {
      enqueue(objectKey(pod.metadata), { lowPriority: true })
    }
  })
}

/** A World matters again when what is wanted changed; its status is the operator's own writing. */
const intentOf = (world: World): string =>
  `${world.metadata.uid}/${world.metadata.generation}/${world.metadata.deletionTimestamp ?? ''}/${isPaused(world)}/` +
  (world.metadata.finalizers ?? []).join()
