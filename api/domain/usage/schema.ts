import * as z from 'zod'

const names = z.object({ limit: z.array(z.string()) })
const used = z.object({ limit: z.number(), used: z.number() })

/** The answer of `GET /api/organizations/current/usage/`: each limit with its use. */
export const usageAnswer = z
  .object({
    maxWorlds: used,
    maxWorldCapacity: used,
    maxRunningCapacity: used,
    maxNodePorts: used,
    maxLoadBalancers: used,
    maxBotDeployments: used,
    maxBotCpu: used,
    maxBotMemory: used,
    imageRegistries: names,
    imagePullSecrets: names,
    maxApiKeys: used,
    maxWebhooks: used,
    maxDocuments: used,
    maxDocumentBytes: used,
    maxDocumentBytesPerSecond: z.object({ limit: z.number() }),
    maxConnections: used,
    maxRequestsPerSecond: z.object({ limit: z.number() }),
  })
  .meta({
    id: 'Usage',
    examples: [
      {
        maxWorlds: { limit: 1_000, used: 12 },
        maxWorldCapacity: { limit: 10_000, used: 100 },
        maxRunningCapacity: { limit: 20_000, used: 130 },
        maxNodePorts: { limit: 200, used: 6 },
        maxLoadBalancers: { limit: 20, used: 1 },
        maxBotDeployments: { limit: 1_000, used: 3 },
        maxBotCpu: { limit: 2_000, used: 0.75 },
        maxBotMemory: { limit: 2_684_354_560_000, used: 402_653_184 },
        imageRegistries: { limit: ['registry.example'] },
        imagePullSecrets: { limit: [] },
        maxApiKeys: { limit: 1_000, used: 4 },
        maxWebhooks: { limit: 10, used: 1 },
        maxDocuments: { limit: 100_000, used: 250 },
        maxDocumentBytes: { limit: 1_073_741_824, used: 81_920 },
        maxDocumentBytesPerSecond: { limit: 2_097_152 },
        maxConnections: { limit: 25_000, used: 40 },
        maxRequestsPerSecond: { limit: 2_000 },
      },
    ],
  })
export type UsageAnswer = z.output<typeof usageAnswer>
