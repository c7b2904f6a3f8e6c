import { countOf } from '#operator/lifecycle/message.ts'
import { type Diagnosis, seriousDiagnosis } from '#operator/pods/diagnosis.ts'
import { type BotUse, toBotUse, useOfBots } from '#shared/domain/botUse.ts'
import { addUse } from '#shared/domain/use.ts'
import type { PlanInput } from './step.ts'

/** The room that the organization's limits of all bots leave for the missing bots of a bot deployment. */
export type Room = {
  /** The number of missing bots that may be created. */
  readonly count: number
  /** The number of missing bots that may not, with the reason. */
  readonly blocked: number
  readonly excess?: Diagnosis
  /** The use of the bots that exist and of those that may be created. */
  readonly reserved: BotUse
}

/** Returns the room for the missing bots. Bots that exist stay, also above a lowered limit. */
export const roomOf = (
  { bots: { spec }, policy, use: { own, others } }: Pick<PlanInput, 'bots' | 'policy' | 'use'>,
  missing: number,
): Room => {
  const size = useOfBots(spec, 1)
  const used = addUse(own, others)
  const most = toBotUse(policy.limits ?? {})
  const byCpu = Math.floor((most.millicores - used.millicores) / size.millicores)
  const byMemory = Math.floor((most.bytes - used.bytes) / size.bytes)
  const count = Math.min(missing, Math.max(0, Math.min(byCpu, byMemory)))
  const blocked = missing - count
  const reserved = addUse(own, useOfBots(spec, count))
  if (blocked === 0) return { count, blocked, reserved }
  const explain = (what: string): string =>
    `${blocked} of ${countOf(spec.count, 'bot')} cannot run: all bots of the organization may have ${what} together. ` +
    'Lower the count or the size of the bots, or delete other bots.'
  const excess =
    byCpu <= byMemory
      ? seriousDiagnosis('MaxBotCpu', explain(`a cpu of ${most.millicores / 1_000} cores (maxBotCpu)`))
      : seriousDiagnosis('MaxBotMemory', explain(`${most.bytes} bytes of memory (maxBotMemory)`))
  return { count, blocked, reserved, excess }
}
