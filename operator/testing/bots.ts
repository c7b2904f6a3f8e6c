import { plan } from '#operator/bots/plan.ts'
import { botName, indexOf } from '#operator/bots/pod.ts'
import type { BotSettings } from '#operator/bots/settings.ts'
import type { Plan, PlanInput } from '#operator/bots/step.ts'
import type { Pod } from '#operator/pods/pod.ts'
import { botDefaults } from '#shared/domain/bots.ts'
import { withDefined } from '#shared/optional.ts'
import {
  type BotDeployment,
  type BotDeploymentStatus,
  botDeploymentSpecSchema,
} from '#shared/resources/botDeployment.ts'
import { labels } from '#shared/resources/group.ts'
import { podSelectors } from '#shared/resources/selectors.ts'
import { type World, type WorldStatus, worldSpecSchema } from '#shared/resources/world.ts'
import { scalingProfiles } from '#shared/scalingProfiles.ts'
import { at, commonSettings, controllerReference, namespace, runA, startMs } from './common.ts'

// Bot deployments, their world and their pods for the tests of plans, in words that read as sentences.

export const settings: BotSettings = {
  image: 'registry.example/bot:1',
  ...commonSettings,
  profiles: scalingProfiles,
  stopGraceSeconds: 15,
}

export const aWorld = (
  status: WorldStatus,
  {
    profile = 'Capacity10',
    ...metadata
  }: { profile?: 'Capacity10' | 'Capacity10000' } & Partial<World['metadata']> = {},
): World => ({
  apiVersion: 'orrery.dev/v1alpha1',
  kind: 'World',
  metadata: { name: 'wld-1', namespace, uid: 'world-uid', generation: 1, ...metadata },
  spec: worldSpecSchema.parse({ state: 'Running', scaling: { profile } }),
  status,
})

export const active = (runId = runA, host = '10.0.0.7'): World =>
  aWorld({ phase: 'Active', runId, address: { host, port: 7777 } })

export const someBots = (
  count: number,
  changes: {
    spec?: object
    status?: BotDeploymentStatus | undefined
    metadata?: Partial<BotDeployment['metadata']>
  } = {},
): BotDeployment => ({
  apiVersion: 'orrery.dev/v1alpha1',
  kind: 'BotDeployment',
  metadata: {
    name: 'bot-1',
    namespace,
    uid: 'bots-uid',
    generation: 1,
    creationTimestamp: at(startMs),
    ...changes.metadata,
  },
  spec: botDeploymentSpecSchema.parse({ worldName: 'wld-1', count, revision: 4, ...changes.spec }),
  ...withDefined({ status: changes.status }),
})

/** The policy of the namespace of an organization. */
export const tenantPolicy = { organization: 'org-00000000000000000000000001' }

/** The grant of the bot deployment of `someBots`. */
export const aGrant = (changes: object = {}) => ({
  uid: 'bots-uid',
  organizationId: tenantPolicy.organization,
  projectId: 'prj-00000000000000000000000001',
  worldId: 'wld-00000000000000000000000001',
  botDeploymentId: 'bot-00000000000000000000000001',
  count: 3,
  ...botDefaults,
  args: [],
  ...changes,
})

/** A bot deployment whose bots were started in that run. */
export const startedIn = (run: string, more: Partial<NonNullable<BotDeploymentStatus['run']>> = {}) => ({
  status: { run: { id: run, startedAt: at(startMs), ...more } },
})

export const aBot = (
  index: number,
  changes: { run?: string; host?: string; restarts?: number; metadata?: object; status?: Pod['status'] } = {},
): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: botName('bot-1', index),
    namespace,
    uid: `pod-${index}`,
    labels: { ...podSelectors.bots, [labels.botDeployment]: 'bot-1', [labels.run]: changes.run ?? runA },
    annotations: {
      'orrery.dev/world-address': `${changes.host ?? '10.0.0.7'}:7777`,
      'orrery.dev/restarts': String(changes.restarts ?? 0),
    },
    ownerReferences: [controllerReference('BotDeployment', 'bot-1', 'bots-uid')],
    ...changes.metadata,
  },
  spec: { containers: [{ name: 'bot', resources: { limits: botDefaults } }] },
  status: changes.status ?? { phase: 'Pending' },
})

export const ready: Pod['status'] = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] }
export const leaving = { metadata: { deletionTimestamp: at(startMs) } }
export const readyBots = (count: number): Pod[] =>
  Array.from({ length: count }, (_, index) => aBot(index, { status: ready }))

export type TestInput = Partial<PlanInput> & { bots: BotDeployment }

/** Plans one reconcile. By default, the world is Active and there are no pods. */
export const planFor = (input: TestInput): Plan =>
  plan({
    world: active(),
    serverIp: undefined,
    pods: [],
    policy: {},
    settings,
    nowMs: startMs,
    siblings: [input.bots],
    ...input,
  })

/** The indexes of the bots that a plan creates. */
export const createdIndexes = ({ steps }: Plan): number[] =>
  steps.flatMap((step) => (step.verb === 'createPod' ? [step.bot.index] : []))
/** The indexes of the bots that a plan deletes. */
export const deletedIndexes = ({ steps }: Plan): number[] =>
  steps.flatMap((step) => (step.verb === 'deletePod' ? [indexOf('bot-1', step.pod.metadata.name) ?? -1] : []))

/** Executes a plan: its status is written, pods are created Pending and deleted at once. */
export const executePlan = (input: TestInput, planned: Plan): TestInput => {
  const gone = new Set(deletedIndexes(planned))
  const kept = (input.pods ?? []).filter(({ metadata }) => !gone.has(indexOf('bot-1', metadata.name) ?? -1))
  const added = planned.steps.flatMap((step) =>
    step.verb === 'createPod'
      ? [
          aBot(step.bot.index, {
            run: step.bot.runId,
            host: step.bot.address.replace(/:7777$/, ''),
            restarts: step.bot.restarts,
          }),
        ]
      : [],
  )
  const bots = { ...input.bots, status: planned.status }
  return { ...input, bots, siblings: [bots], pods: [...kept, ...added] }
}

/** Plans and executes until no step is left for this time. */
export const settle = (input: TestInput): TestInput => {
  let now = input
  for (let round = 0; round < 20; round += 1) {
    const planned = planFor(now)
    now = executePlan(now, planned)
    if (planned.steps.length === 0 && planned.requeueAfterMs !== 0) return now
  }
  throw new Error('The bot deployment did not settle in 20 reconciles.')
}
