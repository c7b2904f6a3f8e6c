import { type BotSize, botBytes, botMillicores } from './bots.ts'
import { addUse } from './use.ts'

/** The use of an organization's limits by bots: the sums of their limits, in thousandths of a core and in bytes. */
export type BotUse = { readonly millicores: number; readonly bytes: number }

/** The use of no bot. */
export const noBotUse: BotUse = { millicores: 0, bytes: 0 }

/** Returns the use of a number of bots of one size. */
export const useOfBots = (size: BotSize, count: number): BotUse => ({
  millicores: count * botMillicores(size),
  bytes: count * botBytes(size),
})

/** Returns the sum of any number of uses. */
export const sumBotUse = (uses: readonly BotUse[]): BotUse => uses.reduce(addUse, noBotUse)

/** The limits of all bots of an organization together: cores and bytes. */
export type BotLimits = { readonly maxBotCpu: number; readonly maxBotMemory: number }

/** Returns the use that reaches the limits. */
export const toBotUse = ({ maxBotCpu, maxBotMemory }: BotLimits): BotUse => ({
  millicores: Math.round(maxBotCpu * 1_000),
  bytes: maxBotMemory,
})

/**
 * Returns a sentence about the limit that bots exceed together with the others of the organization, or undefined if they
 * exceed none. Bots that use no more than `before` are always allowed, so that a lowered limit prevents no reduction.
 */
export const explainBotUse = (
  { own, before, others }: { readonly own: BotUse; readonly before: BotUse; readonly others: BotUse },
  limits: BotLimits,
): string | undefined => {
  const total = addUse(own, others)
  const most = toBotUse(limits)
  const explain = (what: string, limit: string): string =>
    `The bots of the organization would have ${what} together. The limit is ${limit}. ` +
    'Lower the count or the size of the bots, or delete other bots.'
  if (own.millicores > before.millicores && total.millicores > most.millicores) {
    return explain(`a cpu of ${total.millicores / 1_000} cores`, `${most.millicores / 1_000} (maxBotCpu)`)
  }
  if (own.bytes > before.bytes && total.bytes > most.bytes) {
    return explain(`${total.bytes} bytes of memory`, `${most.bytes} (maxBotMemory)`)
  }
  return undefined
}

/** The bots of a world: the sum of the counts of live bot deployments, and the most that a bot has of each resource. */
export type WorldBots = { readonly live: number; readonly largest: BotUse }
