import { assemblePod, commonLabels, type NewPod, type Pod } from '#operator/pods/pod.ts'
import { type BotSize, minBotBytes } from '#shared/domain/bots.ts'
import { scaleCpu, scaleMemoryBytes, toNumber } from '#shared/quantities.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import { apiGroup, labels } from '#shared/resources/group.ts'
import type { NamespacePolicy } from '#shared/resources/namespacePolicy.ts'
import { resourceIdOf } from '#shared/resources/resourceId.ts'
import { podSelectors } from '#shared/resources/selectors.ts'
import type { World } from '#shared/resources/world.ts'
import { permitOf } from './granted.ts'
import type { BotSettings } from './settings.ts'

/** A bot to create. */
export type Bot = {
  readonly index: number
  /** The number of restarts of this bot so far. Its pod carries it, so the status does not have to. */
  readonly restarts: number
  /** The world's run that the bot belongs to. */
  readonly runId: string
  /** The world's first public port, as `host:port`. */
  readonly address: string
}

/** The annotations that record how a bot's pod was created. */
const annotations = { address: `${apiGroup}/world-address`, restarts: `${apiGroup}/restarts` } as const

/** The name of a bot's pod: the bot deployment's name of at most 63 characters, and the index. */
export const botName = (deployment: string, index: number): string => `${deployment}-${index}`

/** Returns the index in a pod's name, or undefined if the name is not that of a bot of the bot deployment. */
export const indexOf = (deployment: string, podName: string): number | undefined => {
  const [, digits] = /-(0|[1-9]\d{0,4})$/.exec(podName) ?? []
  return digits !== undefined && podName === botName(deployment, Number(digits)) ? Number(digits) : undefined
}

/** Returns the number of restarts of this bot before this pod. */
export const restartsOf = (pod: Pod): number => Number(pod.metadata.annotations?.[annotations.restarts] ?? 0) || 0

/** Returns the world's address that this pod was created with. */
export const addressOf = (pod: Pod): string | undefined => pod.metadata.annotations?.[annotations.address]

/**
 * Builds the pod of one bot from what the bot deployment may run. Throws if it may create no bot. The hostname is only
 * `bot-<index>`, because a hostname has at most 63 characters and the name of the bot deployment may have as many.
 */
export const buildBotPod = (
  bots: BotDeployment,
  world: World,
  bot: Bot,
  settings: BotSettings & { readonly image: string },
  policy: NamespacePolicy = {},
): NewPod => {
  const { count, template } = permitOf(bots, policy)
  if (template === undefined) throw new Error('A bot was planned without a grant of the API.')
  const { tenant, args } = template
  const botDeploymentId = tenant?.botDeploymentId ?? resourceIdOf('bot', bots)
  const identity = { owner: bots, world, runId: bot.runId, tenant }
  return assemblePod({
    ...identity,
    settings,
    policy,
    name: botName(bots.metadata.name, bot.index),
    labels: {
      ...commonLabels(identity),
      [labels.botDeployment]: bots.metadata.name,
      [labels.botDeploymentId]: botDeploymentId,
      [labels.name]: 'bot',
      ...podSelectors.bots,
    },
    annotations: { [annotations.address]: bot.address, [annotations.restarts]: String(bot.restarts) },
    spec: { hostname: `bot-${bot.index}` },
    stopGraceSeconds: settings.stopGraceSeconds,
    tmpSizeLimit: '16Mi',
    storageLimit: '128Mi',
    container: {
      name: 'bot',
      image: settings.image,
      args,
      env: {
        ORRERY_WORLD_ADDRESS: bot.address,
        ORRERY_BOT_DEPLOYMENT_ID: botDeploymentId,
        ORRERY_BOT_INDEX: String(bot.index),
        ORRERY_BOT_COUNT: String(count),
      },
      ports: [],
      probes: botProbes,
      resources: resources(template, settings),
    },
  })
}

/**
 * The probes of a bot are less frequent than those of a server, because a node runs many bots and no user waits for a single
 * one. A bot counts as started once it is alive, because it may wait without a limit to enter the world.
 */
const botProbes = { startPath: '/healthz', readyEverySeconds: 2, aliveEverySeconds: 20 } as const

const resources = ({ cpu, memory }: BotSize, settings: BotSettings) => ({
  limits: { memory: toNumber(memory) < minBotBytes ? '1Mi' : memory, cpu },
  requests: {
    memory: scaleMemoryBytes(memory, settings.memoryRequestRatio),
    cpu: scaleCpu(cpu, settings.cpuRequestRatio),
  },
})
