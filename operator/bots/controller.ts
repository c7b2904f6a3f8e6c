import { podPart } from '#operator/podPart.ts'
import { createRunClock } from '#operator/runClock.ts'
import type { Clock } from '#shared/clock.ts'
import type { Client } from '#shared/kube/client.ts'
import { createController } from '#shared/kube/controller.ts'
import type { EventRecorder } from '#shared/kube/events.ts'
import type { KubeMetrics } from '#shared/kube/metrics.ts'
import { objectKey } from '#shared/kube/objects.ts'
import type { Backoff } from '#shared/kube/queue.ts'
import { createReflector, type Reflector } from '#shared/kube/reflector.ts'
import type { Log } from '#shared/log.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import { operatorBots } from '#shared/resources/cached.ts'
import { isPaused, labels } from '#shared/resources/group.ts'
import type { World } from '#shared/resources/world.ts'
import type { BotPod } from './pod.ts'
import { reconcileBots, worldKeyOf } from './reconcile.ts'
import type { BotSettings } from './settings.ts'

const workers = 8
const reconcileTimeoutMs = 60_000
/** How long the first lists may take before the operator says that it waits for the API server. */
const firstListMs = 3_600_000
/** A deployment has thousands of pods, and each of their steps is an event: what happens in this time is one look. */
const gatherMs = 200

/**
 * Keeps every BotDeployment as its spec and its world ask: caches of BotDeployments, of their pods and of Worlds feed one
 * queue of keys. `follow` keeps caches and queue full, but for that of the Worlds, which is somebody else's; `reconcile`
 * works off the queue.
 */
export const createBotController = (options: {
  bots: Client<BotDeployment>
  pods: Client<BotPod>
  worlds: Reflector<World>
  settings: BotSettings
  backoff: Backoff
  clock: Clock
  random: () => number
  events: Pick<EventRecorder, 'record'>
  log: Log
  metrics: KubeMetrics
}) => {
  const { clock, random, log, metrics, worlds } = options
  const bots = createReflector({
    ...{ client: options.bots, clock, random, log, metrics, keep: operatorBots },
    indexers: { world: (each) => [worldKeyOf(each)] },
  })
  const pods = createReflector({
    ...{ client: options.pods, clock, random, log, metrics, labelSelector: labels.botDeployment, keep: podPart },
    indexers: { bots: (pod) => [deploymentKeyOf(pod)] },
  })
  const deps = {
    bots: { client: options.bots, cache: bots },
    pods: { client: options.pods, cache: pods },
    ...{ worlds, settings: options.settings, events: options.events, log },
    ...{ runClock: createRunClock(clock), monotonic: clock.monotonic },
  }
  const controller = createController({
    name: 'bots',
    workers,
    reconcile: (key, { signal }) => reconcileBots(deps, key, signal),
    reconcileTimeoutMs,
    ...{ backoff: options.backoff, clock, log, metrics },
  })
  const botsOf = (worldKey: string, lowPriority: boolean): void => {
    for (const each of bots.store.byIndex('world', worldKey)) controller.enqueue(objectKey(each), { lowPriority })
  }
  onOther(bots, ofDeployment, (each, initial) => {
    controller.enqueue(objectKey(each), { lowPriority: initial })
    // What one of them takes of its world's bots, the others have not.
    botsOf(worldKeyOf(each), initial)
  })
  onOther(worlds, ofWorld, (world, initial) => botsOf(objectKey(world), initial))
  pods.onChange(({ object, initial }) =>
    controller.enqueue(deploymentKeyOf(object), initial ? { lowPriority: true } : { afterMs: gatherMs }),
  )
  const caches = [bots, pods, worlds]
  return {
    ready: (): boolean => caches.every((cache) => cache.hasSynced()),
    follow: async (signal: AbortSignal): Promise<void> => {
      await Promise.all([bots.run(signal), pods.run(signal)])
    },
    reconcile: async (signal: AbortSignal): Promise<void> => {
      await Promise.all(caches.map((cache) => cache.synced({ timeoutMs: firstListMs, signal })))
      if (!signal.aborted) log.info({ deployments: bots.store.size, bots: pods.store.size }, 'the caches are full')
      await controller.run(signal)
    },
  }
}

/** The deployment whose label a pod bears, whoever it belongs to. */
const deploymentKeyOf = ({ metadata }: BotPod): string =>
  objectKey({ namespace: metadata.namespace, name: metadata.labels?.[labels.botDeployment] ?? '' })

/** Calls for each change after which an object matters in another way, and when it is gone. */
const onOther = <T extends { metadata: BotPod['metadata'] }>(
  cache: Reflector<T>,
  matter: (object: T) => string,
  tell: (object: T, initial: boolean) => void,
): void => {
  const seen = new Map<string, string>()
  cache.onChange(({ type, key, object, initial }) => {
    const now = type === 'deleted' ? undefined : matter(object)
    if (now !== undefined && seen.get(key) === now) return
    if (now === undefined) seen.delete(key)
    else seen.set(key, now)
    tell(object, initial)
  })
}

/** What is wanted of a deployment, and whether it still has a share of its world's bots; the rest is our own writing. */
const ofDeployment = ({ metadata, status }: BotDeployment): string => {
  const { uid, generation, deletionTimestamp } = metadata
  const over = status?.phase === 'Stopped' || status?.phase === 'Error' ? `${status.phase} ${status.run?.id}` : ''
  return [uid, generation, deletionTimestamp, isPaused({ metadata }), over].join('/')
}

/** What bots see of their world. */
const ofWorld = ({ metadata, spec, status }: World): string => {
  const { phase, runId, address, run } = status ?? {}
  const { uid, deletionTimestamp } = metadata
  const profile = run?.profile ?? spec.scaling.profile
  return [uid, deletionTimestamp, phase, runId, address?.host, address?.port, profile, spec.scaling.profile].join('/')
}
