import { type SQL, sql } from 'drizzle-orm'
import type { Context } from '#api/domain/access/context.ts'
import { createEvents } from '#api/domain/events/events.ts'
import { beginsWithReads, type Transaction, type TransactionMode } from '#api/platform/database/client.ts'
import { rowsOf } from '#api/platform/database/rows.ts'
import { statement, statementFor } from '#api/platform/database/statement.ts'
import { notFound } from '#api/platform/http/problem.ts'
import { markDirty } from '#api/platform/outbox/outbox.ts'
import type { NewId } from '#shared/ids.ts'
import { endUnseen, recordStart } from './runs/runs.ts'
import { type WorldRow, worldEvents, worlds } from './table.ts'
import type { WorldChange } from './transitions.ts'

// Statements, because each start and each event of the cluster locks and changes a row of 40 columns.
const rows = rowsOf(worlds)

/** Returns a function that locks the world that a condition selects until the end of the transaction. It returns undefined if there is none. */
export const worldLock = <Values extends Record<string, string>>(where: SQL) => {
  const lock = statement<Values>(sql`select ${rows.names} from ${worlds} where ${where} for update`)
  return async (tx: Transaction, values: Values): Promise<WorldRow | undefined> => {
    const [row] = await lock(tx, values)
    return row && rows.decode(row)
  }
}

/** Updates columns of the world with an id. */
export const updateColumns = async (tx: Transaction, worldId: string, columns: Partial<WorldRow>): Promise<void> => {
  await update(tx, { ...rows.encode(columns), worldId })
}

const update = statementFor(
  (keys) => sql`update ${worlds} set ${rows.assign(keys)} where id = ${sql.placeholder('worldId')}`,
)

/** The events of worlds. See `createEvents`. */
export const { record: recordWorldEvents, list: listWorldEvents } = createEvents(worldEvents, worldEvents.worldId)

/** The time of a change, the ids of its records, and the trace of its request. */
export type Made = { readonly now: Date; readonly newId: NewId; readonly traceparent?: string | undefined }

/** Records a start or a stop beside the row: the deployments, then the events. `after` is the row after it. */
export const recordTransition = async (
  tx: Transaction,
  after: WorldRow,
  { runs, wokenBy, events = [] }: Pick<WorldChange, 'runs' | 'wokenBy' | 'events'>,
  { now, newId }: Made,
): Promise<void> => {
  await Promise.all([
    runs === 'begin' && recordStart(tx, after, now, wokenBy),
    runs === 'end' && endUnseen(tx, after.id, now),
    recordWorldEvents(tx, { ...after, worldId: after.id }, events, { now, newId }),
  ])
}

/** Writes a change of a locked world, in this order: the row, its dirty mark, its deployments, its events. */
export const writeChange = async (
  tx: Transaction,
  row: WorldRow,
  { columns, ...transition }: WorldChange,
  made: Made,
): Promise<void> => {
  const { revision } = columns
  // One round trip. A commit that is sent with it does not make starts faster.
  await Promise.all([
    updateColumns(tx, row.id, columns),
    markDirty(tx, { kind: 'world', id: row.id, revision, traceparent: made.traceparent }),
    recordTransition(tx, { ...row, ...columns }, transition, made),
  ])
}

/**
 * Locks a world, calls `change` in the same transaction, and wakes the push after the commit. Returns the row as it was. Throws a 404
 * if the scope has no such world.
 */
export const changeWorld = async (
  ctx: Pick<Context, 'db' | 'clock' | 'newId' | 'organizationId' | 'projectId' | 'traceparent' | 'wakeSync'>,
  worldId: string,
  change: (tx: Transaction, row: WorldRow, made: Made) => Promise<void>,
  mode: TransactionMode = beginsWithReads,
): Promise<WorldRow> => {
  const { organizationId, projectId } = ctx
  const now = new Date(ctx.clock.now())
  const before = await ctx.db.transaction(async (tx) => {
    const row = await lockWorld(tx, { organizationId, projectId, worldId })
    if (row === undefined) throw notFound()
    await change(tx, row, { ...ctx, now })
    return row
  }, mode)
  ctx.wakeSync()
  return before
}

const lockWorld = worldLock<{ organizationId: string; projectId: string; worldId: string }>(sql`
  organization_id = ${sql.placeholder('organizationId')} and project_id = ${sql.placeholder('projectId')}
    and id = ${sql.placeholder('worldId')} and deleting_at is null`)
