import type { Clock } from '#shared/clock.ts'
import type { Client } from '#shared/kube/client.ts'
import { createController } from '#shared/kube/controller.ts'
import type { EventRecorder } from '#shared/kube/events.ts'
import type { KubeMetrics } from '#shared/kube/metrics.ts'
import { objectKey } from '#shared/kube/objects.ts'
import type { Backoff } from '#shared/kube/queue.ts'
import { createReflector } from '#shared/kube/reflector.ts'
import type { Log } from '#shared/log.ts'
import { isPaused, labels } from '#shared/resources/group.ts'
import type { World } from '#shared/resources/world.ts'
import type { Pod } from './pod.ts'
import { reconcileWorld } from './reconcile.ts'
import type { WorldSettings } from './settings.ts'

const workers = 16
const reconcileTimeoutMs = 60_000
/** How long the first lists may take before the operator says that it waits for the API server. */
const firstListMs = 3_600_000

/**
 * Keeps every World as its spec asks: caches of Worlds and of their pods feed one queue of keys. `follow` keeps caches and
 * queue full, also in a standby that writes nothing; `reconcile` works off the queue, in the one process that leads.
 */
export const createWorldController = (options: {
  worlds: Client<World>
  pods: Client<Pod>
  settings: WorldSettings
  backoff: Backoff
  clock: Clock
  random: () => number
  newRunId: () => string
  events: Pick<EventRecorder, 'record'>
  log: Log
  metrics: KubeMetrics
}) => {
  const { clock, random, log, metrics } = options
  const worlds = createReflector({ client: options.worlds, clock, random, log, metrics })
  // A stranger's pod of a world's name has no label and is not seen here; making the pod is then refused, and said.
  const pods = createReflector({ client: options.pods, clock, random, log, metrics, labelSelector: labels.world })
  const deps = {
    worlds: { client: options.worlds, cache: worlds },
    pods: { client: options.pods, cache: pods },
    settings: options.settings,
    now: clock.now,
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
  const seen = new Map<string, string>()
  worlds.onChange((change) => {
    if (change.type !== 'deleted' && !concerns(change.object, seen.get(change.key))) return
    if (change.type === 'deleted') seen.delete(change.key)
    else seen.set(change.key, generationOf(change.object))
    controller.enqueue(change.key, { lowPriority: change.initial })
  })
  // A pod bears its world's name, so its key is the world's key.
  pods.onChange((change) => controller.enqueue(objectKey(change.object.metadata), { lowPriority: change.initial }))
  return {
    ready: (): boolean => worlds.hasSynced() && pods.hasSynced(),
    follow: async (signal: AbortSignal): Promise<void> => {
      await Promise.all([worlds.run(signal), pods.run(signal)])
    },
    reconcile: async (signal: AbortSignal): Promise<void> => {
      await Promise.all([worlds, pods].map((cache) => cache.synced({ timeoutMs: firstListMs, signal })))
      if (!signal.aborted) log.info({ worlds: worlds.store.list().length }, 'the caches are full: reconciling')
      await controller.run(signal)
    },
  }
}

/** A World matters again when what is wanted changed; its status is the operator's own writing. */
const concerns = (world: World, before: string | undefined): boolean => generationOf(world) !== before

const generationOf = (world: World): string =>
  `${world.metadata.uid}/${world.metadata.generation}/${world.metadata.deletionTimestamp ?? ''}/${isPaused(world)}`
