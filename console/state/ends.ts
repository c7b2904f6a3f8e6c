import type { World } from '#client/operations.ts'
import type { Phase } from './row.ts'

/**
 * Returns the time at which the duration of a world's run is over, or undefined if it has no such time. A transient world is deleted
 * then, also if its run has ended before, so it has one while it is stopped too.
 */
export const endMsOf = ({
  status: { phase, startedAt },
  runtime: { durationMinutes },
  transient,
}: Pick<World, 'status' | 'runtime' | 'transient'>): number | undefined => {
  const hasEnd = ['Starting', 'Active', 'Error'].includes(phase) || (phase === 'Stopped' && transient)
  if (!hasEnd || startedAt === undefined || durationMinutes === undefined) return undefined
  return Date.parse(startedAt) + durationMinutes * 60_000
}

type Idle = NonNullable<World['status']['idle']>

/** Returns what is true of the sleep of a world in a phase, which may be newer than `idle`: `asleepSince` or what comes before it. */
export const idleIn = (phase: Phase, idle: Idle = {}): Pick<Idle, 'sleepsAt' | 'keptAwakeBy' | 'asleepSince'> => {
  const { sleepsAt, keptAwakeBy, asleepSince } = idle
  if (phase === 'Active') return { ...(sleepsAt && { sleepsAt }), ...(keptAwakeBy && { keptAwakeBy }) }
  return phase === 'Stopped' && asleepSince !== undefined ? { asleepSince } : {}
}
