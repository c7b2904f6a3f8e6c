import { and, eq, isNotNull, isNull, lte, or, sql } from 'drizzle-orm'
import type { Limits } from '#api/domain/access/limits.ts'
import { readTenancy } from '#api/domain/organizations/limits.ts'
import { writeChange } from '#api/domain/worlds/change.ts'
import { sumRunning } from '#api/domain/worlds/start.ts'
import { explainNoRoom, explainWait } from '#api/domain/worlds/startRules.ts'
import { type WorldRow, worlds } from '#api/domain/worlds/table.ts'
import { toStart, toStop, toWait, type WorldChange } from '#api/domain/worlds/transitions.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { refusalColumn } from '#api/sync/merge/observe.ts'
import { refuseStart, type WorldFacts } from '#api/sync/merge/worldRules.ts'
import type { ReconcileDeps } from '#api/sync/reconcile/kind.ts'
import { lockWorld } from '#api/sync/reconcile/world.ts'
import { readFacts } from '#api/sync/reconcile/worldEdits.ts'
import { desiredSpec } from '#api/sync/rows/desired.ts'
import { sleep } from '#shared/clock.ts'
import type { RunUse } from '#shared/domain/runUse.ts'

/** The number of an organization's oldest waiting starts that are considered at a time. */
const maxConsidered = 50

/** `isBehind` reports whether the resource of a world has a higher revision than its row, as after a restore of the database, or may have. */
type WaitingDeps = ReconcileDeps & { readonly isBehind: (row: WorldRow) => boolean }

type Waiting = Pick<WorldRow, 'id' | 'organizationId' | 'networking'>

/** The interval for looking for room. */
const pollMs = 250

/** Begins the starts that wait in this cluster, until the signal aborts. */
export const runWaitingStarts = async (deps: WaitingDeps, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    await startWaiting(deps)
    await sleep(deps.clock, pollMs, signal)
  }
}

/**
 * Begins the starts that wait in this cluster and may begin now. The organizations take turns, each with its oldest start first. A
 * start that needs too much room or that fails is passed over. The waiting starts are in the rows, so another leader continues. It
 * never rejects.
 */
const startWaiting = async (deps: WaitingDeps): Promise<void> => {
  const { log } = deps
  const waiting = await readWaiting(deps).catch((error: unknown) => {
    log.warn({ err: error }, 'pull: the starts that wait cannot be read')
    return []
  })
  const rooms = new Map<string, Room>()
  for (const each of waiting) {
    await startIfRoom(deps, rooms, each).catch((error: unknown) =>
      log.warn({ world: each.id, err: error }, 'pull: a start that waits failed'),
    )
  }
}

const readWaiting = ({ db, cluster, clock }: ReconcileDeps): Promise<Waiting[]> => {
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
    .orderBy(turns.turn, turns.waitsSince)
}

/** The limits of an organization and what runs there; undefined if it is deleted. */
type Room = { readonly limits: Limits; readonly others: RunUse } | undefined

/** Tries a start if a first look, which locks nothing, finds room for it. `rooms` caches what was read for each organization. */
const startIfRoom = async (deps: WaitingDeps, rooms: Map<string, Room>, waiting: Waiting): Promise<void> => {
  const { id, organizationId, networking } = waiting
  const room = rooms.has(organizationId) ? rooms.get(organizationId) : await readRoom(deps, organizationId)
  rooms.set(organizationId, room)
  if (room === undefined) return
  const requested = { ...networking, profile: networking.scaling.profile }
  if (explainNoRoom(requested, room.others, room.limits) !== undefined) return
  if (!(await deps.transaction((tx) => tryStart(deps, tx, id)))) return
  rooms.delete(organizationId)
  deps.wake()
}

const readRoom = async ({ db, defaultLimits }: ReconcileDeps, organizationId: string): Promise<Room> => {
  const tenancy = await readTenancy(db, defaultLimits, organizationId)
  if (tenancy === undefined || tenancy.isDeleted) return undefined
  return { limits: tenancy.limits, others: await sumRunning(db, { organizationId }) }
}

/** Begins a start that waits, or refuses it, under the locks and the checks of a start. Returns true if it changed the row. */
const tryStart = async (deps: WaitingDeps, tx: Transaction, id: string): Promise<boolean> => {
  const row = await lockWorld(tx, id)
  if (row === undefined || row.waitsSince === null || row.deletingAt !== null || deps.isBehind(row)) return false
  const now = new Date(deps.clock.now())
  const change = decide(row, await readFacts(deps, tx, row), { ...deps, now })
  if (change !== undefined) await writeChange(tx, row, change, { now, newId: deps.newId })
  return change !== undefined
}

const decide = (
  row: WorldRow,
  facts: WorldFacts,
  { now, newId, clusterOf }: Pick<ReconcileDeps, 'newId' | 'clusterOf'> & { readonly now: Date },
): WorldChange | undefined => {
  const spec = desiredSpec(row)
  const refusal = refuseStart(spec, row, facts)
  if (refusal !== undefined) {
    const stop = toStop(row, { now })
    // The next push puts the state back. The resource has no new generation.
    const at = { liveRevision: 0, revision: stop.columns.revision, generation: 0, nowMs: now.getTime() }
    const refused = refusalColumn(row, { reasons: [`spec.state was put back: ${refusal}.`] }, at)
    return { ...stop, columns: { ...stop.columns, ...refused } }
  }
  const wait = explainWait({ profile: spec.scaling.profile, ...spec.networking }, facts)
  if (wait !== undefined) {
    const { columns } = toWait(row, { wait, now })
    return columns.waitsUntil === null && wait.message === row.waitsFor ? undefined : { columns }
  }
  const build = typeof facts.build === 'string' ? null : facts.build
  return toStart(row, { runId: newId('run'), now, build, clusterOf })
}
