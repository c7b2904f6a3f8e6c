import {
  createResourceController,
  onDigestChange,
  type ResourceController,
} from '#operator/lifecycle/execute/controller.ts'
import { createRunClock } from '#operator/lifecycle/runClock.ts'
import { pickCachedFields } from '#operator/pods/cachedFields.ts'
import type { Pod } from '#operator/pods/pod.ts'
import type { Clock } from '#shared/clock.ts'
import type { Client } from '#shared/kube/client.ts'
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
import type { BotSettings } from '../settings.ts'
import { reconcileBots, worldKeyOf } from './reconcile.ts'

const workers = 8
/** A deployment has thousands of pods and each changes often; the changes within this time are one reconcile. */
const coalesceMs = 200

/** Creates the controller of BotDeployments. The cache of Worlds belongs to the worlds' controller. */
export const createBotController = (options: {
  bots: Client<BotDeployment>
  pods: Client<Pod>
  worlds: Reflector<World>
  settings: BotSettings
  backoff: Backoff
  clock: Clock
  random: () => number
  events: Pick<EventRecorder, 'record'>
  log: Log
  metrics: KubeMetrics
}): ResourceController => {
  const { clock, random, log, metrics, worlds, settings, events, backoff } = options
  const common = { clock, random, log, metrics }
  const bots = createReflector({
    ...common,
    client: options.bots,
    keep: operatorBots,
    indexers: { world: (each) => [worldKeyOf(each)] },
  })
  const pods = createReflector({
    ...common,
    client: options.pods,
    labelSelector: labels.botDeployment,
    keep: pickCachedFields,
    indexers: { bots: (pod) => [deploymentKeyOf(pod)] },
  })
  const deps = {
    bots: { client: options.bots, cache: bots },
    pods: { client: options.pods, cache: pods },
    runClock: createRunClock(clock),
    monotonic: clock.monotonic,
    worlds,
    settings,
    events,
    log,
  }
  const controller = createResourceController({
    name: 'bots',
    workers,
    reconcile: (key, { signal }) => reconcileBots(deps, key, signal),
    ownCaches: [bots, pods],
    otherCaches: [worlds],
    sizes: () => ({ deployments: bots.store.size, bots: pods.store.size }),
    backoff,
    clock,
    log,
    metrics,
  })
  const enqueueBotsOf = (worldKey: string, lowPriority: boolean): void => {
    for (const each of bots.store.byIndex('world', worldKey)) controller.enqueue(objectKey(each), { lowPriority })
  }
  onDigestChange(bots, deploymentDigest, (each, initial) => {
    controller.enqueue(objectKey(each), { lowPriority: initial })
    // The deployments of one world share its limit.
    enqueueBotsOf(worldKeyOf(each), initial)
  })
  onDigestChange(worlds, worldDigest, (world, initial) => enqueueBotsOf(objectKey(world), initial))
  pods.onChange(({ object, initial }) =>
    controller.enqueue(deploymentKeyOf(object), initial ? { lowPriority: true } : { afterMs: coalesceMs }),
  )
  return controller
}

/** Returns the key of the deployment in a pod's label. */
const deploymentKeyOf = ({ metadata }: Pod): string =>
  objectKey({ namespace: metadata.namespace, name: metadata.labels?.[labels.botDeployment] ?? '' })

/** Covers the fields that other writers change, and whether the deployment still has a share of its world's bots. */
const deploymentDigest = ({ metadata, status }: BotDeployment): string => {
  const { uid, generation, deletionTimestamp } = metadata
  const over = status?.phase === 'Stopped' || status?.phase === 'Error' ? `${status.phase} ${status.run?.id}` : ''
  return [uid, generation, deletionTimestamp, isPaused({ metadata }), over].join('/')
}

/** Covers the fields of a World that its bots depend on. */
const worldDigest = ({ metadata, spec, status }: World): string => {
  const { phase, runId, address, run } = status ?? {}
  const { uid, deletionTimestamp } = metadata
  const profile = run?.profile ?? spec.scaling.profile
  return [uid, deletionTimestamp, phase, runId, address?.host, address?.port, profile, spec.scaling.profile].join('/')
}
