import type { Usage } from '#client/operations.ts'
import { formatCount } from './format.ts'

/** A limit whose use is counted. Numbers are in cores or bytes, or are counts. */
type Counted = {
  readonly title: string
  /** The things that are counted, and how to use fewer of them. */
  readonly meaning: string
  readonly unit?: 'cores' | 'bytes'
  /** The use is the largest one, so that a use at the limit refuses nothing that exists. */
  readonly isLargest?: true
}

type CountedName = { [Name in keyof Usage]: Usage[Name] extends { used: number } ? Name : never }[keyof Usage]

/** Every limit with a use, in the order of the page. */
const counted: Readonly<Record<CountedName, Counted>> = {
  maxWorlds: { title: 'Worlds', meaning: 'Worlds that are not deleted, running or not.' },
  maxRunningCapacity: {
    title: 'Running capacity',
    meaning: 'The sum of the capacities of runs that have not ended. A stop makes room.',
  },
  maxWorldCapacity: {
    title: 'Largest world',
    meaning: 'The largest capacity of a profile that a world has. The API refuses a profile above the limit.',
    isLargest: true,
  },
  maxNodePorts: {
    title: 'Node ports',
    meaning: 'Public ports of running worlds with NodePort or LoadBalancer, one for each protocol.',
  },
  maxLoadBalancers: { title: 'Load balancers', meaning: 'Load balancers of running worlds.' },
  maxBotDeployments: { title: 'Bot deployments', meaning: 'Bot deployments of all worlds.' },
  maxBotCpu: { title: 'CPU of bots', meaning: 'The CPU limits of all bots together.', unit: 'cores' },
  maxBotMemory: { title: 'Memory of bots', meaning: 'The memory limits of all bots together.', unit: 'bytes' },
  maxApiKeys: { title: 'API keys', meaning: 'API keys, active or not. A deletion makes room.' },
  maxWebhooks: { title: 'Webhooks', meaning: 'Webhooks, active or not.' },
  maxDocuments: { title: 'Documents', meaning: 'Documents of all stores.' },
  maxDocumentBytes: {
    title: 'Data of documents',
    meaning: 'The data of all documents, as stored. A deletion makes room.',
    unit: 'bytes',
  },
  maxConnections: {
    title: 'Realtime connections',
    meaning: 'Connections to the replica of the API that answered. Each replica has this limit.',
  },
}

/** The distance of a use from its limit: `near` from 80 %, `full` from 100 %, `none` if the limit is 0 and nothing is used. */
export type Level = 'ok' | 'near' | 'full' | 'none'

/** A limit as a bar. */
export type Bar = {
  readonly name: string
  readonly title: string
  readonly meaning: string
  /** The use and the limit in words, such as `1,900 of 2,000`. */
  readonly text: string
  /** The used part in whole percent, rounded down. Above 100 if the limit was lowered after the use. */
  readonly percent: number
  readonly level: Level
}

const levelOf = (used: number, limit: number, isLargest: boolean): Level => {
  if (limit === 0 && used === 0) return 'none'
  if (isLargest) return 'ok'
  if (used >= limit) return 'full'
  return used >= 0.8 * limit ? 'near' : 'ok'
}

/** Returns a bar for each limit whose use is counted. */
export const toBars = (usage: Usage): readonly Bar[] =>
  (Object.entries(counted) as [CountedName, Counted][]).map(([name, { title, meaning, unit, isLargest = false }]) => {
    const { used, limit } = usage[name]
    return {
      name,
      title,
      meaning,
      // Cores are the unit of both numbers; bytes may be in two units.
      text: `${formatAmount(used, unit === 'cores' ? undefined : unit)} of ${formatAmount(limit, unit)}`,
      percent: limit === 0 ? (used === 0 ? 0 : 100) : Math.floor((100 * used) / limit),
      level: levelOf(used, limit, isLargest),
    }
  })

/** A limit without a use. */
export type Other = { readonly name: string; readonly title: string; readonly text: string }

const perReplica = 'to each replica of the API'

/** Returns the limits without a use: rates, lists and permissions of the platform. */
export const toOthers = (usage: Usage): readonly Other[] => [
  {
    name: 'maxRequestsPerSecond',
    title: 'Requests',
    text: `${formatCount(usage.maxRequestsPerSecond.limit)} a second ${perReplica}`,
  },
  {
    name: 'maxDocumentBytesPerSecond',
    title: 'Writes of documents',
    text: `${formatAmount(usage.maxDocumentBytesPerSecond.limit, 'bytes')} a second ${perReplica}`,
  },
  {
    name: 'imageRegistries',
    title: 'Registries of images',
    text: usage.imageRegistries.limit.includes('*') ? 'Every registry' : listOf(usage.imageRegistries.limit),
  },
  { name: 'imagePullSecrets', title: 'Secrets to pull images', text: listOf(usage.imagePullSecrets.limit) },
  { name: 'hostPorts', title: 'Host ports', text: usage.hostPorts.limit ? 'Allowed' : 'Not allowed' },
]

const listOf = (entries: readonly string[]): string => (entries.length === 0 ? 'None' : entries.join(', '))

const byteUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const

/** Returns an amount with its unit, such as `2,000 cores` or `2.44 TiB`. Bytes have at most two decimals. */
export const formatAmount = (amount: number, unit?: 'cores' | 'bytes'): string => {
  if (unit === undefined) return formatCount(amount)
  if (unit === 'cores') return formatCount(amount, 'core')
  const index = byteUnits.findLastIndex((_, at) => amount >= 1024 ** at)
  const at = Math.max(0, index)
  return `${formatCount(Math.round((100 * amount) / 1024 ** at) / 100)} ${byteUnits[at]}`
}
