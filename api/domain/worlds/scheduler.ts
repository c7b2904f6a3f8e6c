import { sql } from 'drizzle-orm'
import type { Context } from '#api/domain/access/context.ts'
import { insertAuditRecord } from '#api/platform/audit/records.ts'
import { anonymous } from '#api/platform/auth/principal.ts'
import { impatient, type Transaction } from '#api/platform/database/client.ts'
import { statement } from '#api/platform/database/statement.ts'
import { Problem } from '#api/platform/http/problem.ts'
import { sleep } from '#shared/clock.ts'
import { isRunning } from '#shared/domain/phases.ts'
import type { ScheduledAction } from '#shared/domain/schedule.ts'
import { worldPhases } from '#shared/enumerations.ts'
import { changeWorld, type Made, recordWorldEvents, writeChange } from './change.ts'
import { scheduleMissedEvent, scheduleRefusedEvent } from './eventDrafts.ts'
import { decideDue } from './schedule.ts'
import { type StartDeps, startLocked } from './start.ts'
import { type WorldRow, worlds } from './table.ts'
import { toStop } from './transitions.ts'

/** The most actions of an organization, and of all, that are done in one turn. */
const [maxOfOrganization, maxDue] = [20, 200]

/** The interval between two turns. */
const turnMs = 1_000

/** The maximum number of worlds that are changed at the same time. Each needs a connection. */
const concurrency = 4

/** The first time until a failed action is tried again, which doubles up to the last one. */
const [firstRetryMs, lastRetryMs] = [2_000, 60_000]

/** The maximum number of worlds whose failures are known. Those that failed first are forgotten first. */
const maxFailed = 1_000

type Target = Pick<WorldRow, 'id' | 'organizationId' | 'projectId'>

/** The worlds whose last action failed, or whose rows are older than their resources. */
type Failures = Map<string, { readonly delayMs: number; readonly retryAtMs: number }>

/** The dependencies of the schedules of a cluster. */
export type SchedulerDeps = StartDeps &
  Pick<Context, 'db' | 'clock' | 'newId' | 'log' | 'clusterOf' | 'wakeSync'> & {
    readonly cluster: string
    /** Reports whether the resource of a world has a higher revision than its row, as after a restore of the database, or may have. */
    readonly isBehind: (row: WorldRow) => boolean
  }

/** Does the actions of schedules in a cluster when they are due, until the signal aborts. It never rejects. */
export const runSchedules = async (deps: SchedulerDeps, signal: AbortSignal): Promise<void> => {
  const takeTurn = createScheduler(deps)
  while (!signal.aborted) {
    await sleep(deps.clock, turnMs, signal)
    await takeTurn(signal).catch((error: unknown) =>
      deps.log.warn({ err: error }, 'the schedules that are due cannot be read'),
    )
  }
}

/**
 * Returns a function that does the actions that are due, each in its own transaction. The organizations take turns, each with its oldest
 * action first. The next actions are in the rows, so another leader continues, and the locked row decides. A failure is logged and tried
 * again later. Until then it delays no other world, and it ends the turn of its organization.
 */
export const createScheduler = (deps: SchedulerDeps): ((signal: AbortSignal) => Promise<void>) => {
  const { db, clock, cluster } = deps
  const failures: Failures = new Map()
  return async (signal) => {
    const nowMs = clock.now()
    const heldBack = [...failures].flatMap(([id, { retryAtMs }]) => (retryAtMs > nowMs ? [id] : []))
    const due = await selectDue(db, { now: new Date(nowMs).toISOString(), cluster, heldBack })
    const failed = new Set<string>()
    const next = due.values()
    const work = async (): Promise<void> => {
      for (const target of next) {
        if (signal.aborted) return
        if (failed.has(target.organizationId)) continue
        if (!(await tryToAct(deps, failures, target))) failed.add(target.organizationId)
      }
    }
    await Promise.all(Array.from({ length: concurrency }, work))
  }
}

const ended = sql.raw(worldPhases.flatMap((phase) => (isRunning({ phase }) ? [] : [`'${phase}'`])).join(', '))

// As `decideDue` decides. A statement, because it is asked once a second.
const selectDue = statement<{ now: string; cluster: string; heldBack: readonly string[] }, Target>(sql`
  select id, organization_id as "organizationId", project_id as "projectId"
  from (
    select id, organization_id, project_id, next_action ->> 'at' as at,
      row_number() over (partition by organization_id order by next_action ->> 'at', id) as turn
    from ${worlds}
    where next_action is not null and deleting_at is null
      and cluster = ${sql.placeholder('cluster')} and id <> all(${sql.placeholder('heldBack')}::text[])
      and (next_action ->> 'at') collate "C" <= ${sql.placeholder('now')}
      and (coalesce(next_action ->> 'by', '') collate "C" <= ${sql.placeholder('now')}
        or phase in (${ended}) or (queue_active = 0 and queue_queued = 0))
  ) as turns
  where turn <= ${sql.raw(String(maxOfOrganization))}
  order by turn, at
  limit ${sql.raw(String(maxDue))}`)

/** Does the action of a world. Returns false, and logs the failure, if it fails. */
const tryToAct = async (deps: SchedulerDeps, failures: Failures, target: Target): Promise<boolean> => {
  const { id } = target
  try {
    if (await act(deps, target)) failures.delete(id)
    else holdBack(deps, failures, id)
    return true
  } catch (error) {
    const retryMs = holdBack(deps, failures, id)
    // A world that was deleted meanwhile is no failure.
    if (error instanceof Problem && error.code === 'not_found') return true
    deps.log.warn({ world: id, err: error, retryMs }, 'an action of a schedule failed')
    return false
  }
}

/** Leaves a world out of the next turns. Returns for how many milliseconds. */
const holdBack = ({ clock }: SchedulerDeps, failures: Failures, id: string): number => {
  const delayMs = Math.min(2 * (failures.get(id)?.delayMs ?? firstRetryMs / 2), lastRetryMs)
  failures.delete(id)
  failures.set(id, { delayMs, retryAtMs: clock.now() + delayMs })
  const [oldest] = failures.keys()
  if (failures.size > maxFailed && oldest !== undefined) failures.delete(oldest)
  return delayMs
}

type ScheduleContext = SchedulerDeps & Target & Pick<Context, 'principal'>

/** Returns false if the row is older than its resource, so that nothing was done. */
const act = async (deps: SchedulerDeps, target: Target): Promise<boolean> => {
  // A refusal is recorded for what was due when it was refused.
  const now = deps.clock.now()
  const ctx = { ...deps, ...target, principal: anonymous(''), clock: { ...deps.clock, now: () => now } }
  try {
    return await actOnce(ctx)
  } catch (error) {
    if (!(error instanceof Problem) || error.status >= 500 || error.code === 'not_found') throw error
    return await actOnce(ctx, error)
  }
}

/**
 * Does what is due of the schedule of a world, and sets its next action. With the refusal of a start, the world stays or is stopped.
 * Returns false if the row is older than its resource.
 */
const actOnce = async (ctx: ScheduleContext, refusal?: Problem): Promise<boolean> => {
  let isBehind = false
  await changeWorld(
    ctx,
    ctx.id,
    async (tx, row, made) => {
      isBehind = ctx.isBehind(row)
      const due = isBehind ? undefined : decideDue(row, made.now)
      if (due === undefined) return
      const { next: nextAction, missed, cause, otherwise } = due
      // Another request may have made the start needless meanwhile.
      const refused = due.act === 'stop' ? undefined : refusal
      const what = refused === undefined ? due.act : otherwise
      const events = [
        ...(missed === undefined ? [] : [scheduleMissedEvent(missed)]),
        ...(refused && cause ? [scheduleRefusedEvent(cause, refused.message)] : []),
      ]
      await recordWorldEvents(tx, { ...row, worldId: row.id }, events, made)
      if (what === undefined) {
        await writeChange(tx, row, { columns: { nextAction, revision: row.revision + 1, updatedAt: made.now } }, made)
        return
      }
      if (what === 'stop') {
        const stop = toStop(row, { now: made.now, isScheduled: true })
        await writeChange(tx, row, { ...stop, columns: { ...stop.columns, nextAction } }, made)
      } else {
        await startLocked(ctx, tx, row, { made, nextAction })
      }
      await recordAction(tx, row, what, made)
    },
    impatient,
  )
  return !isBehind
}

const recordAction = (
  tx: Transaction,
  { id, organizationId, projectId }: Target,
  what: ScheduledAction,
  { now, newId }: Made,
): Promise<void> =>
  insertAuditRecord(tx, {
    id: newId('audit'),
    createdAt: now,
    organizationId,
    projectId,
    door: 'system',
    actorKind: 'system',
    actorId: 'schedule',
    action: what === 'stop' ? 'stopWorld' : 'startWorld',
    resources: [id],
    fields: [],
    address: '',
    requestId: '',
  })
