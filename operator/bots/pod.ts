import { containerSecurity, literal, podSecurity, realtimeUrl } from '#operator/world/pod.ts'
import { deploymentIdOfRun } from '#shared/ids.ts'
import { type KubeObject, type ObjectMeta, ownerReference } from '#shared/kube/objects.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import { apiGroup, labels } from '#shared/resources/group.ts'
import type { World } from '#shared/resources/world.ts'
import { partOfCpu, partOfMemory } from './quantities.ts'
import type { BotSettings } from './settings.ts'

/** The part of a bot's Pod that the operator reads. */
export type BotPod = {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
  spec?: { nodeName?: string }
  status?: {
    phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown'
    reason?: string
    message?: string
    conditions?: { type: string; status: string; reason?: string; message?: string }[]
    containerStatuses?: {
      state?: {
        waiting?: { reason?: string; message?: string }
        terminated?: {
          reason?: string
          message?: string
          exitCode?: number
          startedAt?: string
          finishedAt?: string
        }
      }
    }[]
  }
}

/** One bot as it is to be made. */
export type Bot = {
  readonly index: number
  /** How often this bot was restarted before; its pod bears the number, so that nobody else has to remember it. */
  readonly restarts: number
  /** The run of the world that it belongs to. */
  readonly runId: string
  /** Where the world's game port is, `host:port`. */
  readonly address: string
}

/** What a bot's pod was made with that its status does not tell. */
const annotations = { address: `${apiGroup}/world-address`, restarts: `${apiGroup}/restarts` } as const

const healthPort = 8080

/** The name of a bot: that of its deployment, of at most 63 characters, and its index; a pod's may have 253. */
export const botName = (deployment: string, index: number): string => `${deployment}-${index}`

/** The index that is in a pod's name; undefined where the name is not that of a bot of the deployment. */
export const indexOf = (deployment: string, podName: string): number | undefined => {
  const [, digits] = /-(0|[1-9]\d{0,4})$/.exec(podName) ?? []
  return digits !== undefined && podName === botName(deployment, Number(digits)) ? Number(digits) : undefined
}

/** How often the bot of this pod was restarted before it. */
export const restartsOf = (pod: BotPod): number => Number(pod.metadata.annotations?.[annotations.restarts] ?? 0) || 0

/** Where the bot of this pod was told that its world is. */
export const addressOf = (pod: BotPod): string | undefined => pod.metadata.annotations?.[annotations.address]

/** The run that the bot of this pod belongs to. */
export const runOf = (pod: BotPod): string | undefined => pod.metadata.labels?.[labels.run]

/** Selects the bots of a deployment. */
export const selectorOf = (deployment: string): string => `${labels.botDeployment}=${deployment}`

/**
 * The pod of one bot. It passes Pod Security `restricted`. A pod is one attempt: the operator, not the kubelet, restarts
 * it. Its hostname is short, since the name of a deployment leaves no room in the 63 characters of one.
 */
export const buildBotPod = (
  bots: BotDeployment,
  world: World,
  bot: Bot,
  settings: BotSettings & { readonly image: string },
): KubeObject & { spec: object } => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: botName(bots.metadata.name, bot.index),
    ...(bots.metadata.namespace === undefined ? {} : { namespace: bots.metadata.namespace }),
    labels: podLabels(bots, world, bot),
    annotations: { [annotations.address]: bot.address, [annotations.restarts]: String(bot.restarts) },
    ownerReferences: [ownerReference(bots)],
  },
  spec: {
    restartPolicy: 'Never',
    hostname: `bot-${bot.index}`,
    terminationGracePeriodSeconds: settings.stopGraceSeconds,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: podSecurity,
    volumes: [{ name: 'tmp', emptyDir: { sizeLimit: '16Mi' } }],
    containers: [
      {
        name: 'bot',
        image: settings.image,
        imagePullPolicy: 'IfNotPresent',
        args: bots.spec.args.map(literal),
        env: environment(bots, world, bot, settings),
        ports: [{ name: 'health', containerPort: healthPort, protocol: 'TCP' }],
        ...probes,
        resources: resources(bots, settings),
        volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
        securityContext: containerSecurity,
      },
    ],
  },
})

// There are many bots on a node and nobody waits for one of them, so they are asked less often than a server is.
const probes = {
  readinessProbe: { httpGet: { path: '/readyz', port: 'health' }, periodSeconds: 2, timeoutSeconds: 2 },
  livenessProbe: {
    httpGet: { path: '/healthz', port: 'health' },
    initialDelaySeconds: 30,
    periodSeconds: 20,
    timeoutSeconds: 5,
  },
}

/** A label of the product that the deployment bears, or else its world: one made by hand bears none of its own. */
const inherited = (key: string, bots: BotDeployment, world: World): string | undefined =>
  bots.metadata.labels?.[key] ?? world.metadata.labels?.[key]

const podLabels = (bots: BotDeployment, world: World, { runId }: Bot): Record<string, string> => {
  const tenant = [labels.organization, labels.project].flatMap((key) => {
    const value = inherited(key, bots, world)
    return value === undefined ? [] : [[key, value] as const]
  })
  return {
    ...Object.fromEntries(tenant),
    [labels.world]: world.metadata.name,
    [labels.run]: runId,
    [labels.botDeployment]: bots.metadata.name,
    [labels.name]: 'bot',
    [labels.component]: 'bot',
    [labels.instance]: bots.metadata.name,
    [labels.managedBy]: 'orrery-operator',
  }
}

const environment = (
  bots: BotDeployment,
  world: World,
  bot: Bot,
  { publicUrl }: BotSettings,
): { name: string; value: string }[] => {
  const values: Record<string, string | undefined> = {
    ORRERY_WORLD_ID: world.metadata.name,
    ORRERY_RUN_ID: bot.runId,
    ORRERY_ORGANIZATION_ID: inherited(labels.organization, bots, world),
    ORRERY_PROJECT_ID: inherited(labels.project, bots, world),
    ORRERY_DEPLOYMENT_ID: deploymentIdOfRun(bot.runId),
    ORRERY_API_URL: publicUrl,
    ORRERY_REALTIME_URL: realtimeUrl(publicUrl),
    ORRERY_WORLD_ADDRESS: bot.address,
    ORRERY_BOT_DEPLOYMENT_ID: bots.metadata.name,
    ORRERY_BOT_INDEX: String(bot.index),
    ORRERY_BOT_COUNT: String(bots.spec.count),
  }
  return Object.entries(values).map(([name, value]) => ({ name, value: literal(value ?? '') }))
}

const resources = ({ spec }: BotDeployment, settings: BotSettings): object => ({
  limits: { memory: spec.memory, cpu: spec.cpu },
  requests: {
    memory: partOfMemory(spec.memory, settings.memoryRequestRatio),
    cpu: partOfCpu(spec.cpu, settings.cpuRequestRatio),
  },
})
