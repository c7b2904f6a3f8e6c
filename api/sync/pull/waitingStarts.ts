import { and, eq, isNotNull, isNull, lte, or, sql } from 'drizzle-orm'
import { readTenancy } from '#api/domain/organizations/limits/service.ts'
import { updateColumns } from '#api/domain/worlds/columns/service.ts'
import { startEvent, stopEvent } from '#api/domain/worlds/events/changes.ts'
import { recordWorldEvents } from '#api/domain/worlds/events/service.ts'
import { sumRunning } from '#api/domain/worlds/running/service.ts'
import { recordStart } from '#api/domain/worlds/runs/service.ts'
import { explainNoRoom } from '#api/domain/worlds/start.ts'
import { type WorldRow, worlds } from '#api/domain/worlds/table.ts'
import { toStartColumns, toStopColumns, toWaitingColumns } from '#api/domain/worlds/transitions.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { markDirty } from '#api/platform/outbox/outbox.ts'
import { explainWait, refuseStart, type WorldFacts } from '#api/sync/merge/adopt.ts'
import { refusalColumn } from '#api/sync/merge/putBack.ts'
import { desiredSpec } from '#api/sync/rows/desired.ts'
import { readFacts } from './edits.ts'
import type { PullDeps } from './pullDeps.ts'
import { lockRow } from './worldRow.ts'

/** The number of an organization's oldest waiting starts that are considered at a time. */
const maxConsidered = 50

type Waiting = Pick<WorldRow, 'id' | 'organizationId' | 'networking'>

/**
 * Begins the starts that wait in this cluster and may begin now, the oldest of each organization first. A start that needs more room
 * than there is is passed over, and so is one that fails. The rows hold what waits, so another leader continues. It never rejects.
 */
export const startWaiting = async (deps: PullDeps): Promise<void> => {
  const { log } = deps
  const waiting = await readWaiting(deps).catch((error: unknown) => {
    log.warn({ err: error }, 'pull: the starts that wait cannot be read')
    return []
  })
  for (const [organizationId, ofOrganization] of Map.groupBy(waiting, (each) => each.organizationId)) {
    await startThoseOf(deps, organizationId, ofOrganization).catch((error: unknown) =>
      log.warn({ organizationId, err: error }, 'pull: the starts of an organization that wait were not tried'),
    )
  }
}

const readWaiting = ({ db, cluster, clock }: PullDeps): Promise<Waiting[]> => {
  const isDue = or(isNull(worlds.waitsUntil), lte(worlds.waitsUntil, new Date(clock.now())))
  const turn = sql<number>`row_number() over (partition by ${worlds.organizationId} order by ${worlds.waitsSince}, ${worlds.id})`
  const { id, organizationId, networking, waitsSince } = worlds
  const turns = db
    .select({ id, organizationId, networking, waitsSince, turn: turn.as('turn') })
    .from(worlds)
    .where(and(eq(worlds.cluster, cluster), isNotNull(waitsSince), isNull(worlds.deletingAt), isDue))
    .as('turns')
  return db
    .select({ id: turns.id, organizationId: turns.organizationId, networking: turns.networking })
    .from(turns)
    .where(sql`${turns.turn} <= ${maxConsidered}`)
    .orderBy(turns.turn)
}

/** Tries those that have room by a first look, which locks nothing. */
const startThoseOf = async (deps: PullDeps, organizationId: string, waiting: readonly Waiting[]): Promise<void> => {
  const tenancy = await readTenancy(deps.db, deps.defaultLimits, organizationId)
  if (tenancy === undefined || tenancy.isDeleted) return
  const { limits } = tenancy
  let others = await sumRunning(deps.db, { organizationId })
  for (const { id, networking } of waiting) {
    const { strategy, scaling } = networking
    if (explainNoRoom({ profile: scaling.profile, strategy }, others, limits) !== undefined) continue
    const hasChanged = await deps
      .transaction((tx) => tryStart(deps, tx, id))
      .catch((error: unknown) => void deps.log.warn({ world: id, err: error }, 'pull: a start that waits failed'))
    if (!hasChanged) continue
    deps.wake()
    others = await sumRunning(deps.db, { organizationId })
  }
}

/** Begins a start that waits, or refuses it, under the locks and the checks of a start. Returns true if it changed the row. */
const tryStart = async (deps: PullDeps, tx: Transaction, id: string): Promise<boolean> => {
  const row = await lockRow(tx, id)
  if (row === undefined || row.waitsSince === null || row.deletingAt !== null) return false
  const now = new Date(deps.clock.now())
  const facts = await readFacts(deps, tx, row)
  const { columns, event, run } = decide(row, facts, { now, newId: deps.newId })
  if (columns === undefined) return false
  const after = { ...row, ...columns }
  await updateColumns(tx, id, columns)
  if (run !== undefined) await recordStart(tx, { ...after, runId: run.runId }, now)
  await recordWorldEvents(tx, { ...row, runId: run?.runId ?? null }, event === undefined ? [] : [event], {
    now,
    newId: deps.newId,
  })
  await markDirty(tx, { kind: 'world', id, revision: after.revision })
  return true
}

const decide = (row: WorldRow, facts: WorldFacts, { now, newId }: { now: Date; newId: PullDeps['newId'] }) => {
  const spec = desiredSpec(row)
  const refusal = refuseStart(spec, row, facts)
  if (refusal !== undefined) {
    const columns = toStopColumns(row, { now })
    // The next push puts the state back. The resource has no new generation.
    const at = { liveRevision: 0, revision: columns.revision, generation: 0, nowMs: now.getTime() }
    const refused = refusalColumn(row, { reasons: [`spec.state was put back: ${refusal}.`] }, at)
    return { columns: { ...columns, ...refused }, event: stopEvent() }
  }
  const wait = explainWait(spec, facts)
  if (wait !== undefined) {
    const columns = toWaitingColumns(row, { wait, now })
    const isShown = columns.waitsUntil === null && wait.message === row.waitsFor
    return isShown ? {} : { columns }
  }
  const run = { runId: newId('run'), startedAt: now }
  const build = typeof facts.build === 'string' ? null : facts.build
  return { columns: toStartColumns(row, { run, now, build }), event: startEvent(run.runId), run }
}
