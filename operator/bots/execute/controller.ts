import { byNamespace, byWorld, worldKeyOf } from '#operator/lifecycle/execute/botCache.ts'
import {
  acknowledgementPace,
  createResourceController,
  onDigestChange,
  type ResourceController,
} from '#operator/lifecycle/execute/controller.ts'
import type { Source } from '#operator/lifecycle/execute/status.ts'
import { createRunClock } from '#operator/lifecycle/runClock.ts'
import { pickCachedFields } from '#operator/pods/cachedFields.ts'
import type { Pod } from '#operator/pods/pod.ts'
import type { Clock } from '#shared/clock.ts'
import { haveBotsEnded } from '#shared/domain/phases.ts'
import type { Client } from '#shared/kube/client.ts'
import type { EventRecorder } from '#shared/kube/events.ts'
import type { KubeMetrics } from '#shared/kube/metrics.ts'
import { controllerOf, type KubeObject, objectKey } from '#shared/kube/objects.ts'
import { createPacedKeys } from '#shared/kube/pace.ts'
import type { Backoff, Priority } from '#shared/kube/queue.ts'
import { createReflector, type Reflector } from '#shared/kube/reflector.ts'
import { createTextSharing } from '#shared/kube/texts.ts'
import type { Log } from '#shared/log.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import { isPaused, labels } from '#shared/resources/group.ts'
import { readPolicy } from '#shared/resources/namespacePolicy.ts'
import { cacheSelectors } from '#shared/resources/selectors.ts'
import type { World } from '#shared/resources/world.ts'
import type { Tracing } from '#shared/tracing/tracing.ts'
import type { BotSettings } from '../settings.ts'
import { reconcileBots } from './reconcile.ts'

const workers = 10
/** Changes within this time lead to one reconcile, because a bot deployment has thousands of pods that change often. */
const coalesceMs = 200

/** Creates the controller of BotDeployments, which runs their cache. The caches of Worlds and servers belong to the worlds' controller. */
export const createBotController = (options: {
  bots: Source<BotDeployment>
  pods: Client<Pod>
  worlds: Reflector<World>
  servers: Reflector<Pod>
  namespaces: Source<KubeObject>
  worldClient: Client<World>
  settings: BotSettings
  backoff: Backoff
  clock: Clock
  random: () => number
  events: Pick<EventRecorder, 'record'>
  tracing: Tracing
  log: Log
  metrics: KubeMetrics
}): ResourceController & { readonly pods: Reflector<Pod> } => {
  const { clock, random, log, metrics, worlds, namespaces, settings, events, backoff } = options
  const common = { clock, random, log, metrics }
  const shareTexts = createTextSharing()
  const { cache: bots } = options.bots
  const pods = createReflector({
    ...common,
    client: options.pods,
    labelSelector: cacheSelectors.bots,
    keep: (pod: Pod) => shareTexts(pickCachedFields(pod)),
    indexers: { bots: deploymentKeysOf },
  })
  const deps = {
    bots: options.bots,
    pods: { client: options.pods, cache: pods },
    runClock: createRunClock(clock),
    acknowledgements: createPacedKeys(clock, acknowledgementPace),
    monotonic: clock.monotonic,
    worlds: { client: options.worldClient, cache: worlds },
    servers: options.servers.store,
    namespaces,
    settings,
    events,
    tracing: options.tracing,
    log,
  }
  const controller = createResourceController({
    name: 'bots',
    workers,
    reconcile: (key, { signal }) => reconcileBots(deps, key, signal),
    ownCaches: [bots, pods],
    otherCaches: [worlds, options.servers, namespaces.cache],
    sizes: () => ({ deployments: bots.store.size, bots: pods.store.size }),
    backoff,
    clock,
    log,
    metrics,
  })
  const enqueueBotsOf = (worldKey: string, priority: Priority): void => {
    for (const each of bots.store.byIndex(byWorld, worldKey)) controller.enqueue(objectKey(each), { priority })
  }
  onDigestChange(bots, deploymentDigest, (each, { initial }) => {
    const priority = initial ? 'low' : 'high'
    controller.enqueue(objectKey(each), { priority })
    // All bot deployments of a world share its limit of bots.
    enqueueBotsOf(worldKeyOf(each), priority)
  })
  onDigestChange(worlds, worldDigest, (world, { initial }) =>
    enqueueBotsOf(objectKey(world), initial ? 'low' : 'normal'),
  )
  onDigestChange(namespaces.cache, policyDigest, ({ metadata }) => {
    for (const each of bots.store.byIndex(byNamespace, metadata.name)) {
      controller.enqueue(objectKey(each), { priority: 'low' })
    }
  })
  pods.onChange(({ object, initial }) => {
    for (const key of deploymentKeysOf(object)) {
      controller.enqueue(key, initial ? { priority: 'low' } : { afterMs: coalesceMs })
    }
  })
  return { ...controller, pods }
}

/** Returns the keys of the bot deployments in a pod's label and owner. They differ if the label was changed. */
const deploymentKeysOf = (pod: Pod): string[] => {
  const { namespace, labels: marks } = pod.metadata
  const names = new Set([marks?.[labels.botDeployment], controllerOf(pod)?.name])
  return [...names].flatMap((name) => (name === undefined ? [] : [objectKey({ namespace, name })]))
}

/** Returns a digest of the fields that other writers change, and of those that decide the shares of bot deployments. */
const deploymentDigest = ({ metadata, status }: BotDeployment): string => {
  const { uid, generation, deletionTimestamp } = metadata
  const ended = status && haveBotsEnded(status) ? `${status.phase} ${status.run?.id}` : ''
  return [uid, generation, deletionTimestamp, isPaused({ metadata }), ended].join('/')
}

/** Returns a digest of what decides in a namespace whether bots may run. */
const policyDigest = ({ metadata }: KubeObject): string => {
  const { organization, isClosed } = readPolicy(metadata)
  return `${organization}/${isClosed}`
}

/** Returns a digest of the fields of a World that its bots depend on. */
const worldDigest = ({ metadata, spec, status }: World): string => {
  const { phase, runId, address, run } = status ?? {}
  const { uid, deletionTimestamp } = metadata
  const profile = run?.profile ?? spec.scaling.profile
  return [uid, deletionTimestamp, phase, runId, address?.host, address?.port, profile, spec.scaling.profile].join('/')
}
