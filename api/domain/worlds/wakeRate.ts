import { sql } from 'drizzle-orm'
import type { Transaction } from '#api/platform/database/client.ts'
import { statement } from '#api/platform/database/statement.ts'
import { Problem } from '#api/platform/http/problem.ts'
import { deployments } from './table.ts'

/** The maximum number of wakes of a waker in a minute, in all worlds. A world is woken once a minute. */
export const wakesPerMinute = 6

/** The window of the rates of wakes. */
const minuteMs = 60_000

/** The times of the wakes of the last minute that reach a rate, in epoch milliseconds; null if none does. */
export type RecentWakes = {
  /** The last wake of the world. */
  readonly worldMs: number | null
  /** The wake that is `wakesPerMinute` wakes of the waker ago. */
  readonly wakerMs: number | null
}

/** The 429 of a waker above its rate. Others may still wake the world. */
export class WakerLimited extends Problem {}

/** Returns the 429 for a wake above a rate, or undefined if both allow it. */
export const refusalOfWake = ({ worldMs, wakerMs }: RecentWakes, nowMs: number): Problem | undefined => {
  const reachedMs = wakerMs ?? worldMs
  if (reachedMs === null) return undefined
  const isOfWaker = worldMs === null || (wakerMs ?? 0) > worldMs
  const [rate, atMs] = isOfWaker
    ? [`${wakesPerMinute} wakes per minute and user`, reachedMs]
    : ['1 wake per minute and world', worldMs]
  // A clock that was ahead must not close the world for longer.
  const seconds = Math.min(60, Math.max(1, Math.ceil((atMs + minuteMs - nowMs) / 1_000)))
  const headers = { 'retry-after': String(seconds) }
  const Limited = isOfWaker ? WakerLimited : Problem
  return new Limited('rate_limited', `The rate limit is ${rate}. Retry in ${seconds} s.`, { headers })
}

/**
 * Throws a 429 if the last minute has too many wakes of a locked world or of the waker. The lock on the waker makes its wakes count
 * each other. It is taken between those of the world and of the organization.
 */
export const checkWakeRate = async (
  tx: Transaction,
  { worldId, wokenBy, now }: { worldId: string; wokenBy: string; now: Date },
): Promise<void> => {
  const since = new Date(now.getTime() - minuteMs).toISOString()
  // One round trip, in this order.
  const [, [wakes]] = await Promise.all([lockWaker(tx, { wokenBy }), selectWakes(tx, { worldId, wokenBy, since })])
  const refusal = wakes && refusalOfWake(wakes, now.getTime())
  if (refusal !== undefined) throw refusal
}

const lockWaker = statement<{ wokenBy: string }>(sql`
  select pg_advisory_xact_lock(hashtextextended('wakes of ' || ${sql.placeholder('wokenBy')}, 0))`)

const selectWakes = statement<{ worldId: string; wokenBy: string; since: string }, RecentWakes>(sql`
  select
    (select (extract(epoch from max(created_at)) * 1000)::float8 from ${deployments}
      where world_id = ${sql.placeholder('worldId')} and created_at > ${sql.placeholder('since')}
        and woken_by is not null) as "worldMs",
    (select (extract(epoch from created_at) * 1000)::float8 from ${deployments}
      where woken_by = ${sql.placeholder('wokenBy')} and created_at > ${sql.placeholder('since')}
      order by created_at desc offset ${sql.raw(String(wakesPerMinute - 1))} limit 1) as "wakerMs"`)
