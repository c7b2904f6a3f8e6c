import * as z from 'zod'
import { boundedText } from '#api/platform/http/fields.ts'
import { decimal, list, type Settings } from '#shared/environment.ts'
import { anyRegistry, registryEntry } from '#shared/images.ts'
import { namePatterns } from '#shared/kube/names.ts'
import { withDefined } from '#shared/optional.ts'
import type { Kind } from '#shared/resources/group.ts'

/** A limit that is a number. `maximum` bounds what the platform may set, and `preset` is the default. */
type Amount = {
  readonly maximum: number
  readonly preset: number
  readonly unit?: 'bytes' | 'cores'
  readonly text: string
  /** The answer when the limit is reached, for the documentation. */
  readonly reached: string
}

const toSchema = (minimum: number, { maximum, unit, text }: Amount) => {
  const number = unit === 'cores' ? z.number() : z.int()
  const bounded = number.min(minimum).max(maximum)
  // With multipleOf, clients with floating-point numbers would refuse valid values.
  const rounded = unit === 'cores' ? bounded.overwrite((cores) => Math.round(cores * 1_000) / 1_000) : bounded
  return rounded.meta({ description: text })
}

/** Returns a limit whose use is counted. `variable` sets its default. */
const counted = <Name extends string>(variable: Name, limit: Amount) =>
  ({ ...limit, use: 'counted', variable, schema: toSchema(0, limit), given: decimal(0, limit.maximum) }) as const

/** Returns a limit of a rate, which each replica keeps in memory. */
const rate = <Name extends string>(variable: Name, limit: Amount) =>
  ({ ...limit, use: 'rate', variable, schema: toSchema(1, limit), given: decimal(1, limit.maximum) }) as const

const hostPorts = 'Permits worlds to use the networking strategy HostPort.'
const imageRegistries = 'Registries whose images servers may run, such as ghcr.io/acme; * allows every registry.'
const imagePullSecrets = "Names of Secrets in the organization's namespace with which images are pulled."

/**
 * The limits of an organization, its fair share of the platform. The schemas, the usage, the environment variables, the values of the
 * chart and the table of docs/limits.md follow from here. The entities check them, with the values of `lockLimits`.
 */
export const limitTable = {
  maxWorlds: counted('ORRERY_LIMIT_MAX_WORLDS', {
    maximum: 1_000_000,
    preset: 1_000,
    text: 'Maximum number of worlds.',
    reached: '409 for a new world',
  }),
  maxWorldCapacity: counted('ORRERY_LIMIT_MAX_WORLD_CAPACITY', {
    maximum: 10_000,
    preset: 10_000,
    text: 'Maximum estimatedCapacity of one world.',
    reached: '403 for a larger scaling profile',
  }),
  maxRunningCapacity: counted('ORRERY_LIMIT_MAX_RUNNING_CAPACITY', {
    maximum: 100_000_000,
    preset: 20_000,
    text: 'Maximum sum of the capacities of runs that have not ended.',
    reached: '409 for a start',
  }),
  maxNodePorts: counted('ORRERY_LIMIT_MAX_NODE_PORTS', {
    maximum: 1_000_000,
    preset: 200,
    text: 'Maximum number of node ports of running worlds. Each protocol of each public port counts as one.',
    reached: '409 for a start with `NodePort` or `LoadBalancer`',
  }),
  maxLoadBalancers: counted('ORRERY_LIMIT_MAX_LOAD_BALANCERS', {
    maximum: 1_000_000,
    preset: 20,
    text: 'Maximum number of load balancers of running worlds.',
    reached: '409 for a start with `LoadBalancer`',
  }),
  hostPorts: {
    use: 'granted',
    variable: undefined,
    preset: false,
    schema: z.boolean().meta({ description: hostPorts }),
    given: undefined,
    text: hostPorts,
    reached: '403 for a start with `HostPort` ([security](security.md#host-ports))',
  },
  maxBotDeployments: counted('ORRERY_LIMIT_MAX_BOT_DEPLOYMENTS', {
    maximum: 1_000_000,
    preset: 1_000,
    text: 'Maximum number of bot deployments.',
    reached: '409 for a new bot deployment',
  }),
  // The default is a default bot for each unit of maxRunningCapacity.
  maxBotCpu: counted('ORRERY_LIMIT_MAX_BOT_CPU', {
    maximum: 1_000_000,
    preset: 2_000,
    unit: 'cores',
    text: 'Maximum cpu of all bots together, in cores, rounded to 0.001: the sum of their limits.',
    reached: '409 for bots beyond it',
  }),
  maxBotMemory: counted('ORRERY_LIMIT_MAX_BOT_MEMORY', {
    maximum: 2 ** 50,
    preset: 2_500 * 2 ** 30,
    unit: 'bytes',
    text: 'Maximum memory of all bots together, in bytes: the sum of their limits.',
    reached: '409 for bots beyond it',
  }),
  imageRegistries: {
    use: 'named',
    variable: 'ORRERY_IMAGE_REGISTRIES',
    preset: [anyRegistry],
    schema: z.array(registryEntry).max(64).meta({ description: imageRegistries }),
    given: list(registryEntry),
    text: imageRegistries,
    reached: '403 for a build with another image ([security](security.md#images))',
  },
  imagePullSecrets: {
    use: 'named',
    variable: undefined,
    preset: [],
    schema: z
      .array(boundedText(253).regex(new RegExp(namePatterns.object), 'must be the name of a Secret'))
      .max(16)
      .meta({ description: imagePullSecrets }),
    given: undefined,
    text: imagePullSecrets,
    reached: 'images are pulled with these Secrets of the namespace',
  },
  maxApiKeys: counted('ORRERY_LIMIT_MAX_API_KEYS', {
    maximum: 1_000_000,
    preset: 1_000,
    text: 'Maximum number of API keys.',
    reached: '409 for a new key',
  }),
  maxWebhooks: counted('ORRERY_LIMIT_MAX_WEBHOOKS', {
    maximum: 1_000,
    preset: 10,
    text: 'Maximum number of webhooks.',
    reached: '409 for a new webhook',
  }),
  maxDocuments: counted('ORRERY_LIMIT_MAX_DOCUMENTS', {
    maximum: 1_000_000_000,
    preset: 100_000,
    text: 'Maximum number of documents.',
    reached: '409 for a new document',
  }),
  maxDocumentBytes: counted('ORRERY_LIMIT_MAX_DOCUMENT_BYTES', {
    maximum: 2 ** 50,
    preset: 2 ** 30,
    unit: 'bytes',
    text: 'Maximum size of the data of all documents, in bytes as stored.',
    reached: '409 for every write of a document; deleting makes room',
  }),
  maxDocumentBytesPerSecond: rate('ORRERY_LIMIT_MAX_DOCUMENT_BYTES_PER_SECOND', {
    maximum: 2 ** 40,
    preset: 2 * 2 ** 20,
    unit: 'bytes',
    text: 'Maximum bytes per second of the documents that are written to one replica of the API, averaged over a minute.',
    reached: '429 for a write of a document, of each replica; a burst of 60 s is allowed',
  }),
  maxConnections: counted('ORRERY_LIMIT_MAX_CONNECTIONS', {
    maximum: 1_000_000,
    preset: 25_000,
    text: 'Maximum number of realtime connections to one replica of the API.',
    reached: '429 for a realtime connection, of each replica',
  }),
  maxRequestsPerSecond: rate('ORRERY_LIMIT_MAX_REQUESTS_PER_SECOND', {
    maximum: 1_000_000,
    preset: 2_000,
    text: 'Maximum requests per second to one replica of the API, averaged over 10 s.',
    reached: '429 for a request, of each replica; a burst of 10 s of requests is allowed',
  }),
} as const

type Table = typeof limitTable
type Name = keyof Table

/** The limit of the number of resources of each kind. */
export const countLimits = { world: 'maxWorlds', bot: 'maxBotDeployments' } as const satisfies Record<Kind, Name>

const names = Object.keys(limitTable) as Name[]

/** Returns an object with a member for each limit. */
const ofEach = <Out>(make: (limit: Table[Name], name: Name) => Out): Record<Name, Out> =>
  Object.fromEntries(names.map((name) => [name, make(limitTable[name], name)])) as Record<Name, Out>

/** The limits of an organization as values. */
export const limits = z.object(ofEach(({ schema }) => schema) as { [N in Name]: Table[N]['schema'] }).meta({
  id: 'Limits',
  examples: [{ ...ofEach(({ preset }) => preset), imageRegistries: ['registry.example'] }],
})
export type Limits = z.output<typeof limits>

/** The body of `PATCH /api/organizations/{organizationId}/limits/`. */
export const patchLimitsBody = z
  .strictObject(
    ofEach(({ schema }) => schema.exactOptional()) as { [N in Name]: z.ZodExactOptional<Table[N]['schema']> },
  )
  .meta({ id: 'PatchLimits', examples: [{ maxWorlds: 5_000 }] })
export type PatchLimits = z.output<typeof patchLimitsBody>

/** The limits whose use is counted. */
type CountedLimit = { [N in Name]: Table[N]['use'] extends 'counted' ? N : never }[Name]

const limitText = 'The limit.'
const shown = {
  counted: { limit: z.number().describe(limitText), used: z.number().describe('Current use.') },
  rate: { limit: z.number().describe(limitText) },
  named: { limit: z.array(z.string()).describe(limitText) },
  granted: { limit: z.boolean().describe(limitText) },
}

type Shown = { [N in Name]: z.ZodObject<(typeof shown)[Table[N]['use']]> }

/** The answer of `GET /api/organizations/current/usage/`: each limit, and its use if that is counted. */
export const usageAnswer = z
  .object(ofEach(({ use, text }) => z.object(shown[use]).meta({ description: text })) as Shown)
  .meta({
    id: 'Usage',
    examples: [ofEach(({ use, preset }) => (use === 'counted' ? { limit: preset, used: 2 } : { limit: preset }))],
  })
type UsageAnswer = z.output<typeof usageAnswer>

/** Returns each limit with its use. */
export const toUsage = (values: Limits, used: Readonly<Record<CountedLimit, number>>): UsageAnswer => {
  const uses: Partial<Record<Name, number>> = used
  return ofEach((_, name) => ({ limit: values[name], ...withDefined({ used: uses[name] }) })) as UsageAnswer
}

type Given = { [N in Name as Table[N]['variable'] extends string ? N : never]: Table[N] }

/** The settings of the default limits. */
export const limitSettings = Object.fromEntries(
  Object.entries(limitTable).flatMap(([name, { variable, given, preset }]) =>
    variable === undefined ? [] : [[name, [variable, (given as z.ZodType).default(preset)]]],
  ),
) as { [N in keyof Given]: [Given[N]['variable'], z.ZodDefault<Given[N]['given']>] }

/** Returns the default limits. The environment sets those that have a variable. */
export const toLimits = (given: Settings<typeof limitSettings>): Limits => ({
  imagePullSecrets: [...limitTable.imagePullSecrets.preset],
  hostPorts: limitTable.hostPorts.preset,
  ...given,
})
