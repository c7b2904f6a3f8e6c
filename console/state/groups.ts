import { isTemporary } from './attention.ts'
import type { Phase, Row } from './row.ts'

/** Returns the number of worlds in each phase, also in those without any. */
export const countPhases = (rows: Iterable<Row>): Record<Phase, number> => {
  const counts: Record<Phase, number> = { Error: 0, Starting: 0, Active: 0, Inactive: 0, Stopped: 0 }
  for (const { phase } of rows) counts[phase] += 1
  return counts
}

/** The worlds with the same reason. */
export type ReasonGroup = {
  readonly reason: string
  readonly count: number
  /** The first time at which one of the worlds had the reason, in milliseconds since 1970, or 0 if it is unknown. */
  readonly sinceMs: number
  /** The message of the world that has had the reason for the longest time. */
  readonly message: string
  /** Reports whether the worlds only wait. */
  readonly isTemporary: boolean
}

/** Groups the worlds that have a reason: those that need attention first, then those that only wait, the largest groups first. */
export const groupByReason = (rows: Iterable<Row>): ReasonGroup[] => {
  const groups = new Map<string, { count: number; first: Row }>()
  for (const row of rows) {
    if (row.reason === '') continue
    const group = groups.get(row.reason)
    if (group === undefined) groups.set(row.reason, { count: 1, first: row })
    else {
      group.count += 1
      if (startOf(row) < startOf(group.first)) group.first = row
    }
  }
  return [...groups]
    .map(
      ([
        reason,
        {
          count,
          first: { reasonSinceMs: sinceMs, message },
        },
      ]) => ({
        reason,
        count,
        sinceMs,
        message,
        isTemporary: isTemporary(reason),
      }),
    )
    .sort(
      (a, b) => Number(a.isTemporary) - Number(b.isTemporary) || b.count - a.count || (a.reason < b.reason ? -1 : 1),
    )
}

const startOf = ({ reasonSinceMs }: Row): number => (reasonSinceMs === 0 ? Number.POSITIVE_INFINITY : reasonSinceMs)
