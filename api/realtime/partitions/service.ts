import { sql } from 'drizzle-orm'
import type { Deps } from '#api/domain/access/context.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { type Partition, planPartitions, retentionMs } from './plan.ts'

/** The key of the advisory lock. It must differ from all other advisory locks of the product. */
const partitionLock = 7_211_405
/** Writers queue behind a session that waits for a table lock, so the wait is short. A failed step is retried at the next call. */
const lockTimeout = sql.raw(`set local lock_timeout = '300ms'`)

/**
 * Creates partitions in advance and drops expired ones, in one replica at a time. Each step has its own transaction; a
 * failed step is retried at the next call. Returns the numbers of created and dropped partitions.
 */
export const maintainPartitions = async (
  { db, log }: Pick<Deps, 'db' | 'log'>,
  nowMs: number,
): Promise<{ made: number; dropped: number }> => {
  const { rows } = await db.execute<{ name: string }>(sql`
    select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'realtime_changes'::regclass`)
  const plan = planPartitions(
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
      log.warn({ partition: name, err: error }, 'realtime: partition step failed, retrying at the next call')
      return 0
    }
  }
  for (const partition of plan.make) made += await attempt(partition.name, (tx) => make(tx, partition))
  for (const name of plan.drop) {
    dropped += await attempt(
      name,
      async (tx) => void (await tx.execute(sql`drop table if exists ${sql.identifier(name)}`)),
    )
  }
  const expiredAt = new Date(nowMs - retentionMs).toISOString()
  await db.execute(sql`delete from realtime_changes_default where at < ${expiredAt}`)
  return { made, dropped }
}

/** Creates and attaches a partition. Attaching takes a weaker lock than `create table … partition of`, so writers continue. */
const make = async (tx: Transaction, { name, fromMs, toMs }: Partition): Promise<void> => {
  const there = await tx.execute<{ found: boolean }>(sql`select to_regclass(${name}) is not null as found`)
  if (there.rows[0]?.found) return
  const table = sql.identifier(name)
  const [from, to] = [fromMs, toMs].map((ms) => sql.raw(`'${new Date(ms).toISOString()}'`))
  await tx.execute(sql`create unlogged table ${table} (like realtime_changes including defaults including indexes)`)
  await tx.execute(sql`alter table realtime_changes attach partition ${table} for values from (${from}) to (${to})`)
}
