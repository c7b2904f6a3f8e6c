import { z } from 'zod'

const count = (maximum: number) => z.int().min(0).max(maximum)

/** The limits of one organization. */
export const limits = z
  .object({
    maxWorlds: count(1_000_000).meta({ description: 'Maximum number of worlds.' }),
    maxBotDeployments: count(1_000_000).meta({ description: 'Maximum number of bot deployments.' }),
    maxWorldCapacity: count(10_000).meta({ description: 'Maximum estimatedCapacity of one world.' }),
    maxRunningCapacity: count(100_000_000).meta({
      description: 'Maximum sum of estimatedCapacity over the running worlds.',
    }),
  })
  .meta({
    id: 'Limits',
    examples: [{ maxWorlds: 5_000, maxBotDeployments: 1_000, maxWorldCapacity: 10_000, maxRunningCapacity: 20_000 }],
  })
export type Limits = z.output<typeof limits>
