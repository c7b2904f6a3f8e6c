import { labels } from './group.ts'

/** Labels that a pod must have, as in `matchLabels` of a selector. */
export type PodLabels = Readonly<Record<string, string>>

const servers: PodLabels = { [labels.component]: 'world' }

/**
 * The labels by which Services and network policies of the product select pods. Servers and bots both have the labels of a world
 * and of its run, so only the component keeps them apart.
 */
export const podSelectors = {
  servers,
  bots: { [labels.component]: 'bot' } satisfies PodLabels,
  /** The server of a run of the World with that name. */
  serverOf: (world: string, runId: string): PodLabels => ({ ...servers, [labels.world]: world, [labels.run]: runId }),
  /** The pods of a process of the platform, in the namespace of its release. */
  process: (process: 'api' | 'operator'): PodLabels => ({ [labels.name]: `orrery-${process}` }),
}

/** The selector of the pods that the cache of bots lacks, as text of a list request. */
export const notBotsSelector = `!${labels.botDeployment}`

/** The selectors of the operator's caches, as text of a list request. A pod is in at most one cache. */
export const cacheSelectors = {
  servers: `${labels.world},!${labels.botDeployment}`,
  bots: labels.botDeployment,
  services: labels.world,
  routes: labels.world,
} as const

/** Returns the selector of the bots of a BotDeployment, as text of a list request. */
export const botSelectorOf = (deployment: string): string => `${labels.botDeployment}=${deployment}`
