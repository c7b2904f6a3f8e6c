import { z } from 'zod'

const used = z.object({ limit: z.number(), used: z.number() })

/** The answer of `GET /api/organizations/current/usage/`: each limit with its use. */
export const usageAnswer = z
  .object({
    maxWorlds: used,
    maxWorldCapacity: used,
    maxRunningCapacity: used,
    maxBotDeployments: used,
    maxApiKeys: used,
    maxDocuments: used,
    maxDocumentBytes: used,
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
        maxBotDeployments: { limit: 1_000, used: 3 },
        maxApiKeys: { limit: 1_000, used: 4 },
        maxDocuments: { limit: 100_000, used: 250 },
        maxDocumentBytes: { limit: 1_073_741_824, used: 81_920 },
        maxConnections: { limit: 25_000, used: 40 },
        maxRequestsPerSecond: { limit: 2_000 },
      },
    ],
  })
export type UsageAnswer = z.output<typeof usageAnswer>
