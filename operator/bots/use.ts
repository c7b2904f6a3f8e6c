import type { Pod } from '#operator/pods/pod.ts'
import { addBotUse, type BotUse, maxBotUse, noBotUse, subtractBotUse, useOfBots } from '#shared/domain/botUse.ts'

/** Returns the use of the pod of a bot. A pod that has ended counts until it is gone, which is soon. */
export const useOfBotPod = ({ spec }: Pod): BotUse => {
  const limits = spec?.containers?.find(({ name }) => name === 'bot')?.resources?.limits
  const { cpu = '0', memory = '0' } = limits ?? {}
  const use = useOfBots({ cpu, memory }, 1)
  // A cluster administrator can write any quantity, and one that is not a number would spoil the sums.
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

type Entry = { readonly pods: BotUse; readonly reserved: BotUse }

const noEntry: Entry = { pods: noBotUse, reserved: noBotUse }
const isNone = ({ millicores, bytes }: BotUse): boolean => millicores === 0 && bytes === 0

/**
 * Creates the sums, in constant time for each change: a namespace can have thousands of bots. A reservation counts until
 * the next plan of its bot deployment, so that others take neither the room of a pod that the cache does not show yet nor
 * that of a bot before its restart.
 */
export const createBotUses = (): BotUses => {
  const pods = new Map<string, { readonly deploymentKey: string; readonly use: BotUse }>()
  const entries = new Map<string, Entry>()
  const sums = new Map<string, BotUse>()
  const entryOf = (key: string): Entry => entries.get(key) ?? noEntry
  const countedOf = (key: string): BotUse => maxBotUse(entryOf(key).pods, entryOf(key).reserved)
  const sumOf = (key: string): BotUse => sums.get(namespaceOf(key)) ?? noBotUse
  const change = (key: string, changed: Partial<Entry>): void => {
    const others = subtractBotUse(sumOf(key), countedOf(key))
    const entry = { ...entryOf(key), ...changed }
    if (isNone(entry.pods) && isNone(entry.reserved)) entries.delete(key)
    else entries.set(key, entry)
    const sum = addBotUse(others, countedOf(key))
    if (isNone(sum)) sums.delete(namespaceOf(key))
    else sums.set(namespaceOf(key), sum)
  }
  return {
    setPod: (podKey, deploymentKey, use) => {
      const before = pods.get(podKey)
      if (before !== undefined) {
        change(before.deploymentKey, { pods: subtractBotUse(entryOf(before.deploymentKey).pods, before.use) })
      }
      if (isNone(use)) pods.delete(podKey)
      else pods.set(podKey, { deploymentKey, use })
      change(deploymentKey, { pods: addBotUse(entryOf(deploymentKey).pods, use) })
    },
    reserve: (key, reserved) => change(key, { reserved }),
    of: (key) => ({ own: entryOf(key).pods, others: subtractBotUse(sumOf(key), countedOf(key)) }),
  }
}

const namespaceOf = (key: string): string => key.slice(0, key.indexOf('/'))
