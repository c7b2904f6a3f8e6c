import { sql } from 'drizzle-orm'
import type { Database } from '#api/platform/database/client.ts'
import type { ScheduledAction } from '#shared/domain/schedule.ts'

/** The time for which a schedule is said to have been due. The API catches up for an hour. */
const dueMs = 2_700_000

/**
 * Returns the part of a schedule that does these actions in the last minute, and then not for a year. It has to be made due with
 * `makeDue`, because a schedule acts after it was set.
 */
export const lastMinute = (...actions: readonly ScheduledAction[]) => {
  const at = new Date(Date.now() - 60_000)
  const cron = `${at.getUTCMinutes()} ${at.getUTCHours()} ${at.getUTCDate()} ${at.getUTCMonth() + 1} *`
  return Object.fromEntries(actions.map((what) => [what, what === 'restart' ? { at: cron } : cron]))
}

/** Makes the schedule of a world due since three quarters of an hour, as if no API had run. Reports whether the world has a schedule. */
export const makeDue = async (db: Database, worldId: string): Promise<boolean> => {
  const at = JSON.stringify(new Date(Date.now() - dueMs))
  const { rowCount } = await db.execute(sql`
    update worlds set next_action = jsonb_set(next_action - 'by', '{at}', ${at}::jsonb)
    where id = ${worldId} and next_action is not null`)
  return rowCount === 1
}

/** Returns the ids of the worlds of an organization whose schedule is due. */
export const readDue = async (db: Database, organizationId: string): Promise<string[]> => {
  const now = new Date().toISOString()
  const { rows } = await db.execute<{ id: string }>(sql`
    select id from worlds
    where organization_id = ${organizationId} and deleting_at is null and coalesce(next_action ->> 'by', next_action ->> 'at') < ${now}`)
  return rows.map(({ id }) => id)
}

/** Returns how often the schedule of each world of an organization has acted, was refused or has missed its time. */
export const countActs = async (db: Database, organizationId: string): Promise<ReadonlyMap<string, number>> => {
  const { rows } = await db.execute<{ id: string; acts: string }>(sql`
    select id, count(*) as acts from (
      select resources ->> 0 as id from audit_records where organization_id = ${organizationId} and actor_id = 'schedule'
      union all
      select world_id from world_events
      where organization_id = ${organizationId} and reason in ('ScheduleRefused', 'ScheduleMissed')
    ) as acts
    group by id`)
  return new Map(rows.map(({ id, acts }) => [id, Number(acts)]))
}
