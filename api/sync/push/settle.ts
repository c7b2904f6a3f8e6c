import { type SQL, sql } from 'drizzle-orm'
import type { Database } from '#api/platform/database/client.ts'
import { statement } from '#api/platform/database/statement.ts'
import { type Claimed, settleClaim } from '#api/platform/outbox/outbox.ts'
import { clusterOutbox } from '#api/platform/outbox/table.ts'
import {
  type Applied,
  appliedInputColumns,
  lockApplied,
  toAppliedInput,
  updateAllApplied,
  updateApplied,
} from '#api/sync/rows/synced.ts'

/**
 * Ends a successful claim and records what was applied, in one statement. Returns the seconds for which the row was dirty, or
 * undefined if it still is.
 */
export type Settle = (claimed: Claimed, applied: Applied | undefined) => Promise<number | undefined>

type Settlement = { readonly claimed: Claimed; readonly applied: Applied | undefined }
type Waiting = Settlement & {
  readonly resolve: (seconds: number | undefined) => void
  readonly reject: (error: unknown) => void
}

const maxBatch = 64

/** Creates a `Settle` that settles claims together if they end while others are being settled. */
export const createSettle = (db: Database): Settle => {
  const waiting: Waiting[] = []
  let isRunning = false
  const run = async (): Promise<void> => {
    isRunning = true
    // A pause between batches would save transactions, but new rows would be pushed at half the rate of bare applies.
    while (waiting.length > 0) await settleBatch(db, waiting.splice(0, maxBatch))
    isRunning = false
  }
  return (claimed, applied) =>
    new Promise((resolve, reject) => {
      waiting.push({ claimed, applied, resolve, reject })
      if (!isRunning) void run()
    })
}

/** Settles a batch. It never rejects: an error rejects the promises of the batch. */
const settleBatch = async (db: Database, batch: readonly Waiting[]): Promise<void> => {
  const settled = await settleTogether(db, batch).catch(() => undefined)
  await Promise.all(
    batch.map(async (each) => {
      try {
        each.resolve(settled?.get(keyOf(each.claimed)) ?? (await settleOne(db, each)))
      } catch (error) {
        each.reject(error)
      }
    }),
  )
}

const settleOne = (db: Database, { claimed, applied }: Settlement): Promise<number | undefined> =>
  settleClaim(db, claimed, applied && updateApplied(applied))

const keyOf = ({ kind, id }: { kind: string; id: string }): string => `${kind} ${id}`

/**
 * Settles claims in one statement, and returns the seconds for which each row was dirty. Rows that were marked again or that
 * are locked by others are left out: waiting for several locks could deadlock.
 */
const settleTogether = async (db: Database, batch: readonly Settlement[]): Promise<Map<string, number>> => {
  const input = batch.map(({ claimed: { kind, id, epoch, revision }, applied }) => ({
    kind,
    id,
    epoch,
    revision,
    ...(applied && toAppliedInput(applied)),
  }))
  const rows = await settleAll(db, { input: JSON.stringify(input) })
  return new Map(rows.map((row) => [keyOf(row), row.seconds]))
}

type Settled = { readonly kind: string; readonly id: string; readonly seconds: number }

const locked = (kind: 'world' | 'bot'): SQL => lockApplied(kind, sql`(select pushed_id from input)`)

const settleAll = statement<{ input: string }, Settled>(sql`
    with input as materialized (
      select * from jsonb_to_recordset(${sql.placeholder('input')}::text::jsonb)
        as input(kind text, id text, epoch int, revision bigint, ${appliedInputColumns})
    ),
    locked_worlds as materialized (${locked('world')}),
    locked_bots as materialized (${locked('bot')}),
    recorded_worlds as (
      ${updateAllApplied('world', { input: sql`input`, locked: sql`locked_worlds` })} returning true
    ),
    recorded_bots as (${updateAllApplied('bot', { input: sql`input`, locked: sql`locked_bots` })} returning true)
    delete from ${clusterOutbox} using input
    where ${clusterOutbox.kind} = input.kind and ${clusterOutbox.id} = input.id
      and ${clusterOutbox.epoch} = input.epoch and ${clusterOutbox.revision} = input.revision
      and (pushed_id is null or pushed_id in (select id from locked_worlds union all select id from locked_bots))
      -- These conditions make Postgres execute the updates first. All transactions lock rows before marks.
      and (select count(*) from recorded_worlds) >= 0 and (select count(*) from recorded_bots) >= 0
    returning input.kind, input.id, extract(epoch from now() - ${clusterOutbox.markedAt})::float8 as seconds`)
