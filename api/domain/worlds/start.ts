import { sql } from 'drizzle-orm'
import type { Context, Deps } from '#api/domain/access/context.ts'
import { resolveBuild } from '#api/domain/builds/builds.ts'
import { lockLimits } from '#api/domain/organizations/organizations.ts'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { statement } from '#api/platform/database/statement.ts'
import type { RunUse } from '#shared/domain/runUse.ts'
import { withDefined } from '#shared/optional.ts'
import { changeWorld, type Made, writeChange } from './change.ts'
import { checkStart, type StartFacts, startDelayMs, startWindowMs } from './startRules.ts'
import { deployments, type WorldRow, whereOpen } from './table.ts'
import { toStart } from './transitions.ts'
import { checkWakeRate } from './wakeRate.ts'

type StartOptions = {
  readonly needs?: (row: WorldRow, tx: Transaction) => boolean | Promise<boolean>
  /** The caller for whom the start wakes the world. See `wakerOf`. */
  readonly wokenBy?: string
}

/**
 * Starts a new run, whatever the state, unless `needs` returns false for the locked row. Throws a 422 for a build that does not resolve,
 * what `checkStart` throws, and for a wake what `checkWakeRate` throws. Starts with kubectl have the same facts, changes and writes in
 * sync.
 */
export const startWorld = async (
  ctx: Context,
  worldId: string,
  { needs, wokenBy }: StartOptions = {},
): Promise<void> => {
  await changeWorld(ctx, worldId, async (tx, row, made) => {
    if (needs && !(await needs(row, tx))) return
    if (wokenBy !== undefined && ctx.principal.kind !== 'platform') {
      await checkWakeRate(tx, { worldId, wokenBy, now: made.now })
    }
    await startLocked(ctx, tx, row, { made, wokenBy })
  })
}

type LockedStart = {
  readonly made: Made
  readonly wokenBy?: string | undefined
  /** The next action of the schedule, if the start is an action of it. */
  readonly nextAction?: WorldRow['nextAction']
}

/** Starts a new run of a locked world, as `startWorld` does. */
export const startLocked = async (
  ctx: StartDeps & Pick<Context, 'clusterOf' | 'principal'>,
  tx: Transaction,
  row: WorldRow,
  { made, wokenBy, nextAction }: LockedStart,
): Promise<void> => {
  const { now, newId } = made
  const isScheduled = nextAction !== undefined
  const build = await resolveBuild(tx, row.organizationId, row.runtime.build)
  const start = toStart(row, { runId: newId('run'), now, build, clusterOf: ctx.clusterOf, wokenBy, isScheduled })
  const change = { ...start, columns: { ...start.columns, ...withDefined({ nextAction }) } }
  const facts = await readStartFacts(ctx, tx, row, { now, write: () => writeChange(tx, row, change, made) })
  const { idleStopMinutes } = row.runtime
  checkStart({ ...start.columns.granted, ...withDefined({ idleStopMinutes }) }, facts, ctx.principal)
}

/** The settings that decide about starts. */
export type StartDeps = Pick<Deps, 'defaultLimits' | 'startsPerMinute' | 'offersRoutes'>

/**
 * Reads what decides about a start of a locked world. Locks the organization's row, so that starts count each other: last, since the
 * other starts wait from then on until the commit. `write` makes the start before that, and a refusal rolls it back.
 */
export const readStartFacts = async (
  { defaultLimits, startsPerMinute, offersRoutes }: StartDeps,
  tx: Transaction,
  row: WorldRow,
  { now, write }: { now: Date; write?: () => Promise<void> },
): Promise<StartFacts> => {
  const { id: exceptId, organizationId } = row
  // One round trip, in this order.
  const [startedAtMs, , limits, others] = await Promise.all([
    readRecentStarts(tx, row, { startsPerMinute, now }),
    write?.(),
    lockLimits({ organizationId, defaultLimits }, tx),
    sumRunning(tx, { organizationId, exceptId }),
  ])
  const delayMs = startDelayMs(startedAtMs, startsPerMinute, now.getTime())
  return { limits, others, startsPerMinute, startDelayMs: delayMs, offersRoutes }
}

/**
 * Returns the use of the organization's runs whose end is not recorded, with the settings of their starts, without those of the
 * world `exceptId`. Draining runs and those of deleted worlds count.
 */
export const sumRunning = async (
  tx: Transaction | Database,
  { organizationId, exceptId }: { organizationId: string; exceptId?: string },
): Promise<RunUse> => {
  // No world has an empty id.
  const [sums] = await selectSums(tx, { organizationId, exceptId: exceptId ?? '' })
  const { capacity = 0, ports = 0, balancers = 0 } = sums ?? {}
  return { capacity, nodePorts: ports, loadBalancers: balancers }
}

// A statement, because each start sums while others wait for its lock.
const selectSums = statement<{ organizationId: string; exceptId: string }, Sums>(sql`
  select coalesce(sum(capacity), 0)::int as capacity,
    coalesce(sum(service_ports) filter (where strategy in ('NodePort', 'LoadBalancer')), 0)::int as ports,
    (count(*) filter (where strategy = 'LoadBalancer'))::int as balancers
  from ${deployments}
  where organization_id = ${sql.placeholder('organizationId')} and ${whereOpen(deployments)}
    and world_id <> ${sql.placeholder('exceptId')}`)

type Sums = { readonly capacity: number; readonly ports: number; readonly balancers: number }

/** The highest rate of starts that is checked, in starts per minute. A world keeps no more deployments. */
const maxCheckedRate = 500

/** Returns the times of a world's starts in the last `startWindowMs` as epoch milliseconds, oldest first. */
const readRecentStarts = async (
  tx: Transaction,
  { id: worldId, granted }: Pick<WorldRow, 'id' | 'granted'>,
  { startsPerMinute, now }: { startsPerMinute: number; now: Date },
): Promise<number[]> => {
  const lastStartMs = granted === null ? 0 : Date.parse(granted.startedAt)
  if (startsPerMinute > maxCheckedRate || now.getTime() - lastStartMs > startWindowMs) return []
  const since = new Date(now.getTime() - startWindowMs).toISOString()
  const rows = await selectStarts(tx, { worldId, since, limit: 2 * Math.ceil(startsPerMinute) })
  return rows.map(({ startMs }) => startMs).reverse()
}

// A statement, because each start reads them while others wait for its lock.
const selectStarts = statement<{ worldId: string; since: string; limit: number }, { readonly startMs: number }>(sql`
  select (extract(epoch from created_at) * 1000)::float8 as "startMs"
  from ${deployments}
  where world_id = ${sql.placeholder('worldId')} and created_at > ${sql.placeholder('since')}
  order by created_at desc
  limit ${sql.placeholder('limit')}`)
