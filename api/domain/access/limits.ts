import { z } from 'zod'

const most = (maximum: number) => z.int().min(0).max(maximum)
/** What an organization may have and run. */
export const limits = z
  .object({
    maxWorlds: most(1_000_000).meta({ description: 'How many worlds there may be.' }),
    maxBotDeployments: most(1_000_000).meta({ description: 'How many bot deployments there may be.' }),
    maxWorldCapacity: most(10_000).meta({ description: 'The largest estimatedCapacity of one world.' }),
    maxRunningCapacity: most(100_000_000).meta({ description: 'The sum of estimatedCapacity of running worlds.' }),
  })
  .meta({
    id: 'Limits',
    examples: [{ maxWorlds: 5_000, maxBotDeployments: 1_000, maxWorldCapacity: 10_000, maxRunningCapacity: 20_000 }],
  })
export type Limits = z.output<typeof limits>
