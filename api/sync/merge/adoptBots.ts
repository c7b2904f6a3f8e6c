import type { BotRow } from '#api/domain/bots/table.ts'
import { type BotLimits, explainBotSize } from '#shared/domain/bots.ts'
import { type BotDeploymentSpec, botDeploymentSpecSchema } from '#shared/resources/botDeployment.ts'
import { type Merge, mergeSpecs, type Rule, type Sides } from './merge.ts'

/** Facts for the rules for edits of a BotDeployment, besides the deployment itself. */
export type BotFacts = {
  /** The bots that the other bot deployments of the world want. */
  readonly otherBots: number
  /** The maximum number of bots that the scaling profile of the world allows. */
  readonly maxBots: number
  /** The limits of the organization for one bot. */
  readonly limits: BotLimits
}

/** Merges the edits of a live BotDeployment into its row. See `mergeSpecs`; the edits have the limits of REST. */
export const mergeBots = (sides: Sides<BotDeploymentSpec>, facts: BotFacts): Merge<BotDeploymentSpec> =>
  mergeSpecs(botDeploymentSpecSchema, sides, botRules(sides.row, facts))

const botRules = (row: BotDeploymentSpec, { otherBots, maxBots, limits }: BotFacts): Rule<BotDeploymentSpec>[] => [
  { fields: ['/worldName'], refuse: () => 'bots cannot move to another world' },
  {
    fields: ['/count'],
    refuse: ({ count }) => {
      const wanted = otherBots + count
      return count > row.count && wanted > maxBots
        ? `the world would have ${wanted} bots, but its scaling profile allows ${maxBots}`
        : undefined
    },
  },
  { fields: ['/cpu', '/memory'], refuse: (bot) => explainBotSize(bot, limits)?.replace(/\.$/, '') },
  { fields: ['/metadata'], refuse: () => undefined },
]

/** Returns the columns of a bot deployment for a spec. */
export const toBotColumns = (
  spec: BotDeploymentSpec,
): Pick<BotRow, 'description' | 'count' | 'cpu' | 'memory' | 'args' | 'durationMinutes' | 'metadata'> => {
  const { description, count, cpu, memory, args, durationMinutes = null, metadata } = spec
  return { description, count, cpu, memory, args, durationMinutes, metadata }
}
