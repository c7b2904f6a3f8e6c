import * as z from 'zod'
import { toNumber } from '#shared/quantities.ts'
import type { ScalingProfile } from '#shared/scalingProfiles.ts'
import { boundedText, containerArgs, durationMinutes } from './common.ts'

// Kubernetes treats a limit of 0 as no limit.
const isAboveZero = (quantity: string): boolean => toNumber(quantity) > 0
const mustBeAboveZero = 'must be above 0'

/** The fields of a bot deployment that REST, the BotDeployment resource and the tables share. */
export const botFields = {
  description: boundedText(2048).describe('Text that describes the bots to users.'),
  count: z.int().min(0).max(10_000).describe('Desired number of bots.'),
  cpu: boundedText(32)
    .regex(/^\d+(m|\.\d\d?\d?)?$/, { message: 'must be a CPU quantity such as 1, 0.5 or 250m', abort: true })
    .refine(isAboveZero, mustBeAboveZero)
    .describe(
      'CPU limit of each bot, above 0 and at most that of the scaling profile: cores, such as 1 or 0.5, or thousandths of a core, such as 250m.',
    ),
  memory: boundedText(32)
    .regex(/^\d+(\.\d+)?(m|k|Ki|M|Mi|G|Gi)?$/, { message: 'must be a memory quantity such as 256Mi', abort: true })
    .refine(isAboveZero, mustBeAboveZero)
    .describe(
      'Memory limit of each bot, above 0 and at most that of the scaling profile: bytes with an optional suffix, such as 128Mi.',
    ),
  args: containerArgs,
  durationMinutes: durationMinutes.describe(
    'Minutes from the start of the bots until they are stopped. If absent, they run as long as their world.',
  ),
}

/** The values of bot deployment fields that are absent. */
export const botDefaults = { cpu: '100m', memory: '128Mi' } as const

/** The limits of one bot. */
export type BotSize = { readonly cpu: string; readonly memory: string }

/** The smallest memory limit of a bot in bytes. A pod with less cannot start. */
export const minBotBytes = 2 ** 20

/** Returns the cpu limit of a bot in thousandths of a core. */
export const botMillicores = ({ cpu }: Pick<BotSize, 'cpu'>): number => Math.round(toNumber(cpu) * 1_000)

/** Returns the memory limit of a bot in bytes, at least `minBotBytes`. */
export const botBytes = ({ memory }: Pick<BotSize, 'memory'>): number =>
  Math.max(minBotBytes, Math.ceil(toNumber(memory)))

/** Reports whether a bot has more of a resource than another one. */
export const isLargerBot = (bot: BotSize, other: BotSize): boolean =>
  botMillicores(bot) > botMillicores(other) || botBytes(bot) > botBytes(other)

/** Returns a sentence about the limit of the scaling profile that a bot exceeds, or undefined if it exceeds none. */
export const explainBotSize = (
  bot: BotSize,
  { name, cpuLimit, memoryLimit }: Pick<ScalingProfile, 'name' | 'cpuLimit' | 'memoryLimit'>,
): string | undefined => {
  const explain = (field: string, own: string, most: string): string =>
    `The ${field} ${own} of a bot exceeds that of the world's scaling profile ${name}, which is ${most}. Lower the ${field}.`
  if (botMillicores(bot) > botMillicores({ cpu: cpuLimit })) return explain('cpu', bot.cpu, cpuLimit)
  if (botBytes(bot) > botBytes({ memory: memoryLimit })) return explain('memory', bot.memory, memoryLimit)
  return undefined
}
