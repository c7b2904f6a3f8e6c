import { sql } from 'drizzle-orm'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import type { Log } from '#shared/log.ts'
import { type Partition, type PartitionedTable, planPartitions } from './plan.ts'

/** The key of the advisory lock. It must differ from all other advisory locks of the product. */
const partitionLock = 7_211_405
/** Writers queue behind a session that waits for a table lock, so the wait is short. A failed step is retried at the next call. */
const lockTimeout = sql.raw(`set local lock_timeout = '300ms'`)

/**
 * Creates the partitions of a table in advance and drops expired ones, in one replica at a time. The role of `db` owns the
 * table. Each step has its own transaction; a failed step is retried at the next call. Returns the numbers of created and
 * dropped partitions.
 */
export const maintainPartitions = async (
  { db, log }: { readonly db: Database; readonly log: Log },
  table: PartitionedTable,
  nowMs: number,
): Promise<{ made: number; dropped: number }> => {
  const { rows } = await db.execute<{ name: string }>(sql`
    select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = ${table.name}::regclass`)
  const plan = planPartitions(
    table,
    rows.map(({ name }) => name),
    nowMs,
  )
  let [made, dropped] = [0, 0]
  const step = (work: (tx: Transaction) => Promise<void>): Promise<boolean> =>
    db.transaction(async (tx) => {
      const turn = await tx.execute<{ mine: boolean }>(sql`select pg_try_advisory_xact_lock(${partitionLock}) as mine`)
      if (!turn.rows[0]?.mine) return false
      await tx.execute(lockTimeout)
      await work(tx)
      return true
    })
  const attempt = async (name: string, work: (tx: Transaction) => Promise<void>): Promise<number> => {
    try {
      return Number(await step(work))
    } catch (error) {
      log.warn({ partition: name, err: error }, 'partition step failed, retrying at the next call')
      return 0
    }
  }
  for (const partition of plan.make) made += await attempt(partition.name, (tx) => make(tx, table, partition))
  for (const name of plan.drop) {
    dropped += await attempt(
      name,
      async (tx) => void (await tx.execute(sql`drop table if exists ${sql.identifier(name)}`)),
    )
  }
  const expiredAt = new Date(nowMs - table.retentionMs).toISOString()
  const rest = sql.identifier(`${table.name}_default`)
  await db.execute(sql`delete from ${rest} where ${sql.identifier(table.column)} < ${expiredAt}`)
  return { made, dropped }
}

/** Creates and attaches a partition. Attaching takes a weaker lock than `create table … partition of`, so writers continue. */
const make = async (
  tx: Transaction,
  { name: parentName, isUnlogged }: PartitionedTable,
  { name, fromMs, toMs }: Partition,
): Promise<void> => {
  const there = await tx.execute<{ found: boolean }>(sql`select to_regclass(${name}) is not null as found`)
  if (there.rows[0]?.found) return
  const [table, parent] = [sql.identifier(name), sql.identifier(parentName)]
  const [from, to] = [fromMs, toMs].map((ms) => sql.raw(`'${new Date(ms).toISOString()}'`))
  const unlogged = sql.raw(isUnlogged ? 'unlogged' : '')
  await tx.execute(sql`create ${unlogged} table ${table} (like ${parent} including defaults including indexes)`)
  await tx.execute(sql`alter table ${parent} attach partition ${table} for values from (${from}) to (${to})`)
}
