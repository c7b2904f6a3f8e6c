import type { BotRow } from '#api/domain/bots/table.ts'
import { readConditions } from '#api/domain/events/conditions.ts'
import { desiredBotSpec } from '#api/sync/rows/desired.ts'
import { explainBotSize, isLargerBot } from '#shared/domain/bots.ts'
import { type BotLimits, type BotUse, explainBotUse, useOfBots } from '#shared/domain/botUse.ts'
import {
  type BotDeployment,
  type BotDeploymentSpec,
  botDeploymentSpecSchema,
  isBotsDrained,
  readBotSpec,
} from '#shared/resources/botDeployment.ts'
import type { ScalingProfile } from '#shared/scalingProfiles.ts'
import { type Merge, mergeSpecs, type Rule, type Sides, toClause } from './merge.ts'
import { createObserve, hasChanges } from './observe.ts'

/** Facts for the rules for edits of a BotDeployment, besides the deployment itself. */
export type BotFacts = {
  /** The bots that the other bot deployments of the world want. */
  readonly otherBots: number
  /** The scaling profile of the world: the maximum of its bots, and the size of one bot. */
  readonly profile: ScalingProfile
  /** The use of the organization's other bot deployments. */
  readonly otherUse: BotUse
  readonly limits: BotLimits
}

/** Merges the edits of a live BotDeployment into its row. See `mergeSpecs`; the edits have the limits of REST. */
export const mergeBots = (sides: Sides<BotDeploymentSpec>, facts: BotFacts): Merge<BotDeploymentSpec> =>
  mergeSpecs(botDeploymentSpecSchema, sides, botRules(sides.row, facts))

const botRules = (row: BotDeploymentSpec, facts: BotFacts): Rule<BotDeploymentSpec>[] => [
  { fields: ['/worldName'], refuse: () => 'bots cannot move to another world' },
  {
    fields: ['/count'],
    refuse: (bots) => explainCount(bots, row, facts) ?? explainUse(bots, row, facts),
  },
  {
    fields: ['/cpu', '/memory'],
    refuse: (bots) => explainSize(bots, row, facts) ?? explainUse(bots, row, facts),
  },
  { fields: ['/metadata'], refuse: () => undefined },
]

const explainCount = (
  { count }: BotDeploymentSpec,
  row: BotDeploymentSpec,
  { otherBots, profile: { capacity } }: BotFacts,
): string | undefined => {
  const wanted = otherBots + count
  return count > row.count && wanted > capacity
    ? `the world would have ${wanted} bots, but its scaling profile allows ${capacity}`
    : undefined
}

const explainSize = (bots: BotDeploymentSpec, row: BotDeploymentSpec, { profile }: BotFacts): string | undefined =>
  isLargerBot(bots, row) ? toClause(explainBotSize(bots, profile)) : undefined

const explainUse = (
  bots: BotDeploymentSpec,
  row: BotDeploymentSpec,
  { otherUse: others, limits }: BotFacts,
): string | undefined =>
  toClause(explainBotUse({ own: useOfBots(bots, bots.count), before: useOfBots(row, row.count), others }, limits))

/** Returns the columns of a bot deployment for a spec. */
export const toBotColumns = (
  spec: BotDeploymentSpec,
): Pick<BotRow, 'description' | 'count' | 'cpu' | 'memory' | 'args' | 'durationMinutes' | 'metadata'> => {
  const { description, count, cpu, memory, args, durationMinutes = null, metadata } = spec
  return { description, count, cpu, memory, args, durationMinutes, metadata }
}

/** The state in the status of a BotDeployment: the columns of the observed state, if some change. */
export type ObservedBots = {
  readonly observed?: Partial<Pick<BotRow, 'phase' | 'statusMessage' | 'startedAt' | 'conditions'>>
}

const readState = (row: BotRow, { status }: BotDeployment): ObservedBots => {
  if (status?.phase === undefined) return {}
  const observed = {
    phase: status.phase,
    statusMessage: status.message ?? '',
    startedAt: status.startedAt === undefined ? null : new Date(status.startedAt),
    conditions: readConditions(status.conditions),
  }
  return hasChanges(row, observed) ? { observed } : {}
}

/** The decisions about a live BotDeployment. `sidesOf` and `observe` are those of `createObserve`. */
export const { sidesOf: sidesOfBots, observe: observeBots } = createObserve<
  BotRow,
  BotDeployment,
  BotDeploymentSpec,
  BotFacts,
  BotDeploymentSpec,
  ObservedBots
>({
  toSpec: desiredBotSpec,
  merge: (sides, _, facts) => mergeBots(sides, facts),
  toEdit: ({ spec }) => spec,
  isDrained: isBotsDrained,
  readState,
  empty: readBotSpec({}).value,
  noState: {},
  withMessage: ({ observed }, statusMessage) => ({ observed: { ...observed, statusMessage } }),
})
