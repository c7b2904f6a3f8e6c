import * as z from 'zod'
import type { WorldPhase, WorldState } from '#shared/enumerations.ts'
import { idleMinutes, instant } from './common.ts'
import type { ServerQuery } from './query.ts'

/** The settings that let a world sleep and wake. They act at once, also on a run that is under way. */
export const idleSettings = {
  idleStopMinutes: idleMinutes
    .exactOptional()
    .describe(
      'Minutes without players after which a run ends: no player in the world, none who waits, and no bots. The world then sleeps until it is started or woken. If absent, it does not sleep.',
    ),
  wakeOnAccess: z
    .enum(['Never', 'Access'])
    .exactOptional()
    .describe(
      'Access lets users who may enter the world wake it while it sleeps, by the access check or by a wake. If absent, it is Never.',
    ),
}

/** `idleSettings` as values. */
export type IdleSettings = z.output<z.ZodObject<typeof idleSettings>>

/** The reasons for which a run with `idleStopMinutes` does not fall asleep. */
export const awakeReasons = ['Players', 'WaitingPlayers', 'Bots', 'UnknownCounts'] as const

export type AwakeReason = (typeof awakeReasons)[number]

/** The sleep of a world, in its status. */
export const worldIdle = z
  .object({
    since: instant()
      .exactOptional()
      .describe('Time since which nobody is in the world. Absent while something keeps it awake.'),
    sleepsAt: instant()
      .exactOptional()
      .describe('Time at which the run ends if no player joins before. Absent while something keeps it awake.'),
    keptAwakeBy: z
      .enum(awakeReasons)
      .exactOptional()
      .describe(
        'Reason for which the run does not end: Players in the world, WaitingPlayers, Bots, or UnknownCounts while the server does not say its players.',
      ),
    asleepSince: instant().exactOptional().describe('Time at which the run ended. Present while the world sleeps.'),
  })
  .describe('Sleep of a world with idleStopMinutes. Absent while its server is not Ready, unless the world sleeps.')

export type WorldIdle = z.output<typeof worldIdle>

/** Reports whether a world sleeps: its last run ended because nobody was in it, and no user has stopped the world. */
export const isAsleep = ({
  state,
  phase,
  idle,
}: {
  readonly state: WorldState
  readonly phase: WorldPhase
  readonly idle: WorldIdle | null | undefined
}): boolean => state === 'Running' && phase === 'Stopped' && idle?.asleepSince !== undefined

/** The rule that a world with `idleStopMinutes` has a server whose players can be counted, for REST and for the API server. */
export const idleRule = {
  isKept: ({
    idleStopMinutes,
    probes,
    query,
  }: {
    readonly idleStopMinutes?: number | undefined
    readonly probes: boolean
    readonly query?: ServerQuery | undefined
  }): boolean => idleStopMinutes === undefined || probes || query !== undefined,
  /** In CEL; `self` is the spec of a World. */
  rule: '!has(self.idleStopMinutes) || self.runtime.probes || has(self.runtime.query)',
  message:
    'idleStopMinutes needs a server that reports its players: set runtime.query, since the program has no probes, or remove idleStopMinutes',
} as const
