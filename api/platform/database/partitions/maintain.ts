import { type SQL, sql } from 'drizzle-orm'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import type { Log } from '#shared/log.ts'
import { type PartitionedTable, planPartitions } from './plan.ts'

/** The key of the advisory lock. It must differ from all other advisory locks of the product. */
const partitionLock = 7_211_405
/** Writers queue behind a session that waits for a table lock, so the wait is short. A failed step is retried at the next call. */
const lockTimeout = sql.raw(`set local lock_timeout = '300ms'`)

/**
 * Creates the partitions of a table in advance and drops expired ones, in one replica at a time, by the functions of the owner
 * (`definePartitionFunctions`). Each step has its own transaction; a failed step is retried at the next call.
 */
export const maintainPartitions = async (
  { db, log }: { readonly db: Database; readonly log: Log },
  table: PartitionedTable,
  nowMs: number,
): Promise<void> => {
  const { rows } = await db.execute<{ name: string }>(sql`
    select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = ${table.name}::regclass`)
  const plan = planPartitions(
    table,
    rows.map(({ name }) => name),
    nowMs,
  )
  const attempt = async (partition: string, call: SQL): Promise<void> => {
    try {
      await db.transaction((tx) => runInTurn(tx, call))
    } catch (error) {
      log.warn({ partition, err: error }, 'partition step failed, retrying at the next call')
    }
  }
  for (const name of plan.make) await attempt(name, sql`select make_partition(${table.name}, ${name})`)
  for (const name of plan.drop) await attempt(name, sql`select drop_partition(${table.name}, ${name})`)
  await db.execute(sql`select delete_expired(${table.name})`)
}

/** Runs a step unless another replica is in one. */
const runInTurn = async (tx: Transaction, call: SQL): Promise<void> => {
  const turn = await tx.execute<{ mine: boolean }>(sql`select pg_try_advisory_xact_lock(${partitionLock}) as mine`)
  if (!turn.rows[0]?.mine) return
  await tx.execute(lockTimeout)
  await tx.execute(call)
}
