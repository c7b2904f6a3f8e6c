import { createResourceController, onDigestChange } from '#operator/lifecycle/execute/controller.ts'
import { createRunClock } from '#operator/lifecycle/runClock.ts'
import { pickCachedFields } from '#operator/pods/cachedFields.ts'
import { type Node, nodeDigest } from '#operator/pods/node.ts'
import type { Pod } from '#operator/pods/pod.ts'
import type { Service } from '#operator/pods/service.ts'
import type { Clock } from '#shared/clock.ts'
import type { Client } from '#shared/kube/client.ts'
import type { EventRecorder } from '#shared/kube/events.ts'
import type { KubeMetrics } from '#shared/kube/metrics.ts'
import { objectKey } from '#shared/kube/objects.ts'
import type { Backoff } from '#shared/kube/queue.ts'
import { createReflector } from '#shared/kube/reflector.ts'
import type { Log } from '#shared/log.ts'
import { operatorWorld } from '#shared/resources/cached.ts'
import { isPaused, labels } from '#shared/resources/group.ts'
import type { World } from '#shared/resources/world.ts'
import type { WorldSettings } from '../settings.ts'
import type { AskServer } from './askServer.ts'
import { createQueuePoll } from './queuePoll.ts'
import { reconcileWorld } from './reconcile.ts'

const workers = 16
const byNode = 'node'

type Options = {
  worlds: Client<World>
  pods: Client<Pod>
  services: Client<Service>
  nodes: Client<Node>
  settings: WorldSettings
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

/** Creates the controller of Worlds, from caches of Worlds, their pods and services, and nodes. */
export const createWorldController = (options: Options) => {
  const { clock, random, log, settings, newRunId, events } = options
  const caches = createCaches(options)
  const { worlds, pods, services, nodes } = caches
  const queuePoll = createQueuePoll({
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
    runClock: createRunClock(clock),
    queuePoll,
    settings,
    newRunId,
    events,
    log,
  }
  const controller = createResourceController({
    name: 'world',
    workers,
    reconcile: (key, { signal }) => reconcileWorld(deps, key, signal),
    ownCaches: [worlds, pods, services, nodes],
    otherCaches: [],
    sizes: () => ({ worlds: worlds.store.size }),
    backoff: options.backoff,
    clock,
    log,
    metrics: options.metrics,
  })
  enqueueChanges(caches, controller.enqueue)
  return {
    ...controller,
    /** The cache of Worlds, which the bots' controller reads too. */
    worlds,
    reconcile: async (signal: AbortSignal): Promise<void> => {
      await controller.reconcile(signal)
      queuePoll.close()
    },
  }
}

const createCaches = ({ clock, random, log, metrics, ...clients }: Options) => {
  const common = { clock, random, log, metrics }
  return {
    worlds: createReflector({ ...common, client: clients.worlds, keep: operatorWorld }),
    // A stranger without our label is not cached; the API server reports it when ours is created.
    pods: createReflector({
      ...common,
      client: clients.pods,
      keep: pickCachedFields,
      labelSelector: `${labels.world},!${labels.botDeployment}`,
      indexers: { [byNode]: ({ spec }) => (spec?.nodeName === undefined ? [] : [spec.nodeName]) },
    }),
    services: createReflector({ ...common, client: clients.services, labelSelector: labels.world }),
    nodes: createReflector({ ...common, client: clients.nodes }),
  }
}

type Enqueue = (key: string, options?: { lowPriority?: boolean }) => void

/**
 * Enqueues the worlds that a change concerns. User intent first: spec changes come before changes of pods, services and
 * nodes, so that in a rush every server is started before the first is reported on.
 */
const enqueueChanges = ({ worlds, pods, services, nodes }: ReturnType<typeof createCaches>, enqueue: Enqueue): void => {
  onDigestChange(worlds, intentDigest, (world, initial) => enqueue(objectKey(world), { lowPriority: initial }))
  // Pods and services have their world's name, so their key is the world's.
  for (const cache of [pods, services]) {
    cache.onChange(({ object }) => enqueue(objectKey(object.metadata), { lowPriority: true }))
  }
  nodes.onChange((change) => {
    if (change.type === 'updated' && nodeDigest(change.object) === nodeDigest(change.old)) return
    for (const pod of pods.store.byIndex(byNode, change.object.metadata.name)) {
      enqueue(objectKey(pod.metadata), { lowPriority: true })
    }
  })
}

/** Covers the fields of a World that other writers change. */
const intentDigest = (world: World): string => {
  const { uid, generation, deletionTimestamp, finalizers = [] } = world.metadata
  return [uid, generation, deletionTimestamp, isPaused(world), finalizers.join()].join('/')
}
