import { observeBots, sidesOfBots } from '#api/sync/merge/bots.ts'
import { observeWorld, sidesOfWorld } from '#api/sync/merge/world.ts'
import type { WorldFacts } from '#api/sync/merge/worldRules.ts'
import { noBotUse } from '#shared/domain/botUse.ts'
import { noUse } from '#shared/domain/runUse.ts'
import { scalingProfiles } from '#shared/scalingProfiles.ts'

/** The facts of an organization that may do everything, for a world without bots. */
export const freeFacts: WorldFacts = {
  build: null,
  startsPerMinute: 10,
  startDelayMs: 0,
  limits: {
    imageRegistries: ['*'],
    maxWorldCapacity: 10_000,
    maxRunningCapacity: 20_000,
    maxNodePorts: 1_000,
    maxLoadBalancers: 1_000,
    hostPorts: true,
  },
  others: noUse,
  bots: { live: 0, largest: noBotUse },
  profiles: scalingProfiles,
  hostPorts: new Map([['default', [{ first: 7000, last: 8000 }]]]),
  offersRoutes: true,
  hasCluster: () => true,
}

type Decisions<Row, Seen, Sides, Input, Verdict> = {
  readonly sidesOf: (row: Row, seen: Seen) => Sides | undefined
  readonly observe: (row: Row, seen: Seen, isDirty: boolean, input: Input & { readonly sides: Sides }) => Verdict
}

/** Returns the decision about a resource whose managed fields are known or not needed. */
const decideWith =
  <Row, Seen, Sides, Input, Verdict>({ sidesOf, observe }: Decisions<Row, Seen, Sides, Input, Verdict>) =>
  (row: Row, seen: Seen, isDirty: boolean, input: Omit<Input, 'sides'>): Verdict => {
    const sides = sidesOf(row, seen)
    if (sides === undefined) throw new Error('The managed fields are needed.')
    return observe(row, seen, isDirty, { ...(input as Input), sides })
  }

/** Decides about a World. */
export const decideWorld = decideWith({ sidesOf: sidesOfWorld, observe: observeWorld })

/** Decides about a BotDeployment. */
export const decideBots = decideWith({ sidesOf: sidesOfBots, observe: observeBots })
