import type { Clock } from '#shared/clock.ts'
import type { Client } from '#shared/kube/client.ts'
import type { KubeMetrics } from '#shared/kube/metrics.ts'
import { objectKey } from '#shared/kube/objects.ts'
import { createReflector, type Reflector } from '#shared/kube/reflector.ts'
import { createTextSharing } from '#shared/kube/texts.ts'
import type { Log } from '#shared/log.ts'
import { type BotDeployment, readBotSpec } from '#shared/resources/botDeployment.ts'
import { operatorPart } from '#shared/resources/cached.ts'

/** The name of the index of bot deployments by the key of their world. */
export const byWorld = 'world'

/** The name of the index of bot deployments by their namespace. */
export const byNamespace = 'namespace'

/** Returns the key of the world of a bot deployment. */
export const worldKeyOf = ({ metadata, spec }: BotDeployment): string =>
  objectKey({ namespace: metadata.namespace, name: spec.worldName })

/** Creates the cache of BotDeployments that both controllers read, indexed by `byWorld` and `byNamespace`. The bots' controller runs it. */
export const createBotCache = (options: {
  readonly client: Client<BotDeployment>
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
  readonly metrics: KubeMetrics
}): Reflector<BotDeployment> => {
  const shareTexts = createTextSharing()
  return createReflector({
    ...options,
    keep: (each: BotDeployment) => shareTexts(operatorPart(each, readBotSpec)),
    indexers: { [byWorld]: (each) => [worldKeyOf(each)], [byNamespace]: ({ metadata }) => [metadata.namespace ?? ''] },
  })
}
