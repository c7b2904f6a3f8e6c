import { z } from 'zod'
import { toNumber } from '#shared/quantities.ts'
import { boundedText, containerArgs, durationMinutes } from './common.ts'

/** The fields of a bot deployment that REST, the BotDeployment resource and the tables share. */
export const botFields = {
  description: boundedText(2048).describe('Text that describes the bots to users.'),
  count: z.int().min(0).max(10_000).describe('Desired number of bots.'),
  cpu: boundedText(32)
    .regex(/^\d+(m|\.\d\d?\d?)?$/, 'must be a CPU quantity such as 1, 0.5 or 250m')
    .describe('CPU limit of each bot: cores, such as 1 or 0.5, or thousandths of a core, such as 250m.'),
  memory: boundedText(32)
    .regex(/^\d+(\.\d+)?(m|k|Ki|M|Mi|G|Gi)?$/, 'must be a memory quantity such as 256Mi')
    .describe('Memory limit of each bot in bytes, with an optional suffix, such as 128Mi.'),
  args: containerArgs,
  durationMinutes: durationMinutes.describe(
    'Minutes from the start of the bots until they are stopped. If absent, they run as long as their world.',
  ),
}

/** The values of bot deployment fields that are absent. */
export const botDefaults = { cpu: '100m', memory: '128Mi' } as const

/** Returns the cpu limit of a bot in thousandths of a core. */
export const botMillicores = ({ cpu }: { readonly cpu: string }): number => toNumber(cpu) * 1_000

/** Returns the memory limit of a bot in bytes. */
export const botBytes = ({ memory }: { readonly memory: string }): number => toNumber(memory)

/** The largest size of a bot in an organization. */
export type BotLimits = { readonly maxBotCpuMillicores: number; readonly maxBotMemoryBytes: number }

/** Returns a sentence about the limit that a bot of this size exceeds, or undefined if it exceeds none. */
export const explainBotSize = (
  bot: { readonly cpu: string; readonly memory: string },
  { maxBotCpuMillicores, maxBotMemoryBytes }: BotLimits,
): string | undefined => {
  if (botMillicores(bot) > maxBotCpuMillicores) {
    return `The cpu ${bot.cpu} exceeds maxBotCpuMillicores of the organization, which is ${maxBotCpuMillicores}. Lower the cpu.`
  }
  if (botBytes(bot) > maxBotMemoryBytes) {
    return `The memory ${bot.memory} exceeds maxBotMemoryBytes of the organization, which is ${maxBotMemoryBytes}. Lower the memory.`
  }
  return undefined
}
