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
  },
  others: noUse,
  bots: { live: 0, largest: noBotUse },
  profiles: scalingProfiles,
  hasCluster: () => true,
}
