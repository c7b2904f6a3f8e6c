import { createUseSums } from '#operator/lifecycle/useSums.ts'
import type { Pod } from '#operator/pods/pod.ts'
import { type BotUse, noBotUse, useOfBots } from '#shared/domain/botUse.ts'
import { addUse, subtractUse } from '#shared/domain/use.ts'

/** Returns the use of the pod of a bot. A pod that has ended counts until it is gone: the operator deletes it. */
export const useOfBotPod = ({ spec }: Pod): BotUse => {
  const limits = spec?.containers?.find(({ name }) => name === 'bot')?.resources?.limits
  const { cpu = '0', memory = '0' } = limits ?? {}
  const use = useOfBots({ cpu, memory }, 1)
  // A cluster administrator can write any quantity, and one that is not a number would make the sums NaN.
  return Number.isFinite(use.millicores) && Number.isFinite(use.bytes) ? use : noBotUse
}

/** The use of the bots of one bot deployment, and that of the others in its namespace. */
export type UseOf = { readonly own: BotUse; readonly others: BotUse }

/** The use of the bots of each bot deployment. Keys are `namespace/name`. */
export type BotUses = {
  /** Sets the use of a pod of a bot deployment. */
  setPod(podKey: string, deploymentKey: string, use: BotUse): void
  /** Sets the use that a plan gives a bot deployment: its bots that exist, and those that may be created. */
  reserve(deploymentKey: string, use: BotUse): void
  of(deploymentKey: string): UseOf
}

/** Creates the sums. A reservation keeps the room of a pod that the cache does not show yet, and of a bot before its restart. */
export const createBotUses = (): BotUses => {
  const pods = new Map<string, { readonly deploymentKey: string; readonly use: BotUse }>()
  const sums = createUseSums(noBotUse)
  return {
    setPod: (podKey, deploymentKey, use) => {
      const before = pods.get(podKey)
      if (before !== undefined) {
        sums.show(before.deploymentKey, subtractUse(sums.shownOf(before.deploymentKey), before.use))
      }
      if (use === noBotUse) pods.delete(podKey)
      else pods.set(podKey, { deploymentKey, use })
      sums.show(deploymentKey, addUse(sums.shownOf(deploymentKey), use))
    },
    reserve: sums.reserve,
    of: (key) => ({ own: sums.shownOf(key), others: sums.othersOf(key) }),
  }
}
