import * as z from 'zod'
import { boundedText } from '#api/platform/http/fields.ts'
import { registryEntry } from '#shared/images.ts'

const limitField = (maximum: number, description: string, minimum = 0) =>
  z.int().min(minimum).max(maximum).meta({ description })
const limitFields = {
  maxWorlds: limitField(1_000_000, 'Maximum number of worlds.'),
  maxWorldCapacity: limitField(10_000, 'Maximum estimatedCapacity of one world.'),
  maxRunningCapacity: limitField(100_000_000, 'Maximum sum of the capacities of runs that have not ended.'),
  maxNodePorts: limitField(1_000_000, 'Maximum number of node ports of running worlds: two for each world with one.'),
  maxLoadBalancers: limitField(1_000_000, 'Maximum number of load balancers of running worlds.'),
  maxBotDeployments: limitField(1_000_000, 'Maximum number of bot deployments.'),
  maxBotCpu: z
    .number()
    .min(0)
    .max(1_000_000)
    // As multipleOf, clients with floating-point numbers would refuse valid values.
    .overwrite((cores) => Math.round(cores * 1_000) / 1_000)
    .meta({ description: 'Maximum cpu of all bots together, in cores, rounded to 0.001: the sum of their limits.' }),
  maxBotMemory: limitField(2 ** 50, 'Maximum memory of all bots together, in bytes: the sum of their limits.'),
  imageRegistries: z
    .array(registryEntry)
    .max(64)
    .meta({ description: 'Registries whose images servers may run, such as ghcr.io/acme; * allows every registry.' }),
  imagePullSecrets: z
    .array(boundedText(253).regex(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/, 'must be the name of a Secret'))
    .max(16)
    .meta({ description: "Names of Secrets in the organization's namespace with which images are pulled." }),
  maxApiKeys: limitField(1_000_000, 'Maximum number of API keys.'),
  maxWebhooks: limitField(1_000, 'Maximum number of webhooks.'),
  maxDocuments: limitField(1_000_000_000, 'Maximum number of documents.'),
  maxDocumentBytes: limitField(2 ** 50, 'Maximum size of the data of all documents, in bytes as stored.'),
  maxDocumentBytesPerSecond: limitField(
    2 ** 40,
    'Maximum bytes per second of the documents that are written to one replica of the API, averaged over a minute.',
    1,
  ),
  maxConnections: limitField(1_000_000, 'Maximum number of realtime connections to one replica of the API.'),
  maxRequestsPerSecond: limitField(
    1_000_000,
    'Maximum requests per second to one replica of the API, averaged over 10 s.',
    1,
  ),
}
const limitExample = {
  maxWorlds: 5_000,
  maxWorldCapacity: 10_000,
  maxRunningCapacity: 20_000,
  maxNodePorts: 200,
  maxLoadBalancers: 20,
  maxBotDeployments: 1_000,
  maxBotCpu: 2_000,
  maxBotMemory: 2_684_354_560_000,
  imageRegistries: ['registry.example'],
  imagePullSecrets: [],
  maxApiKeys: 1_000,
  maxWebhooks: 10,
  maxDocuments: 100_000,
  maxDocumentBytes: 1_073_741_824,
  maxDocumentBytesPerSecond: 2_097_152,
  maxConnections: 25_000,
  maxRequestsPerSecond: 2_000,
}

/** The limits of an organization: its fair share of the platform. */
export const limits = z.object(limitFields).meta({ id: 'Limits', examples: [limitExample] })
export type Limits = z.output<typeof limits>
