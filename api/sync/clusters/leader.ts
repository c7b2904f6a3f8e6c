import { sql } from 'drizzle-orm'
import { beginsWithReads, type Database, type Transaction } from '#api/platform/database/client.ts'
import { openSession, type Session } from '#api/platform/database/pool.ts'
import { statement } from '#api/platform/database/statement.ts'
import { type Clock, sleep } from '#shared/clock.ts'
import type { Log } from '#shared/log.ts'

/** The key of the advisory locks of the replicas that pull. It must differ from all other advisory locks of the product. */
const pullLock = 7_211_404
/** The interval at which the other replicas try to get the lock. */
const retryMs = 1_000
const heartbeatMs = 2_000
/** The longest wait for an answer. A leader without answers gives up before Postgres ends its session. */
const answerMs = 4_000
/** Postgres ends a session without heartbeats after this time, which frees the lock. */
const silenceMs = 8_000
/** Postgres ends a transaction of the leader that is idle for this time, so that a suspended one does not delay its successor. */
const idleTransactionMs = 4_000

/** Leadership from one election until its loss. */
export type Leadership = {
  /** Aborts when the leadership is lost. */
  readonly signal: AbortSignal
  /**
   * Runs a transaction in this term. Its first round trip must only read and lock rows. Rejects if another replica has become the
   * leader. The next leader starts after all transactions of this term have ended.
   */
  readonly transaction: <T>(change: (tx: Transaction) => Promise<T>) => Promise<T>
}

type Options = {
  readonly db: Database
  readonly databaseUrl: string
  readonly cluster: string
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}

/**
 * Runs `lead` in one replica at a time for each cluster, elected by a session-level advisory lock of Postgres. Postgres ends
 * a session that sends no heartbeat, so another replica takes over within 15 s even from a leader that is suspended or cut
 * off. A leader whose term was replaced gives up, and stands for election again.
 */
export const whileLeader = async (options: Options, lead: (leadership: Leadership) => Promise<void>): Promise<void> => {
  const { clock, log, signal } = options
  while (!signal.aborted) {
    try {
      await leadOnce(options, lead)
    } catch (error) {
      log.warn({ err: error }, 'pull: election failed, retrying')
    }
    await sleep(clock, retryMs, signal)
  }
}

const leadOnce = async (options: Options, lead: (leadership: Leadership) => Promise<void>): Promise<void> => {
  const { db, cluster, clock, log } = options
  const lost = new AbortController()
  const session = await openSession(
    { connectionString: options.databaseUrl, application_name: 'orrery-pull', query_timeout: answerMs },
    () => lost.abort(),
  )
  const signal = AbortSignal.any([options.signal, lost.signal])
  try {
    await session.client.query(`set idle_session_timeout = ${silenceMs}`)
    while (!(await tryLock(session, cluster))) {
      await sleep(clock, retryMs, signal)
      if (signal.aborted) return
    }
    const term = await beginTerm(session, cluster)
    log.info({ term }, 'pull: this replica is the leader')
    signal.addEventListener('abort', () => log.warn({ term }, 'pull: this replica is no longer the leader'))
    const beating = sendHeartbeats(session, { cluster, term, clock, signal }).finally(() => lost.abort())
    await Promise.all([beating, lead({ signal, transaction: createTransaction(db, cluster, term) })])
  } finally {
    lost.abort()
    await session.close()
  }
}

const tryLock = async ({ client }: Session, cluster: string): Promise<boolean> => {
  const text = 'select pg_try_advisory_lock($1, hashtext($2)) as locked'
  const { rows } = await client.query<{ locked: boolean }>(text, [pullLock, cluster])
  return rows[0]?.locked === true
}

/** Begins a new term. Waits for the transactions of the previous one, which hold a lock on the row. */
const beginTerm = async ({ client }: Session, cluster: string): Promise<number> => {
  const { rows } = await client.query<{ term: number }>(
    `insert into clusters (name, pull_term) values ($1, 1)
      on conflict (name) do update set pull_term = clusters.pull_term + 1 returning pull_term as term`,
    [cluster],
  )
  if (rows[0] === undefined) throw new Error('Postgres returned no term.')
  return rows[0].term
}

type Term = { readonly cluster: string; readonly term: number; readonly clock: Clock; readonly signal: AbortSignal }

/** Sends heartbeats until the signal aborts. Rejects if the term has been replaced. */
const sendHeartbeats = async ({ client }: Session, { cluster, term, clock, signal }: Term): Promise<void> => {
  while (!signal.aborted) {
    const { rowCount } = await client.query('select 1 from clusters where name = $1 and pull_term = $2', [
      cluster,
      term,
    ])
    if (rowCount === 0) throw new Error(`Another replica has begun a term after ${term}.`)
    await sleep(clock, heartbeatMs, signal)
  }
}

/** Locks the row of a term. A statement, because each transaction of the leader begins with it. */
const lockTerm = statement<{ cluster: string; term: number }>(sql`
  select set_config('idle_in_transaction_session_timeout', ${String(idleTransactionMs)}, true)
  from clusters where name = ${sql.placeholder('cluster')} and pull_term = ${sql.placeholder('term')} for share`)

const createTransaction = (db: Database, cluster: string, term: number): Leadership['transaction'] => {
  return (change) =>
    db.transaction(async (tx) => {
      const check = lockTerm(tx, { cluster, term })
      // The check shares a round trip with the first query of the change. No query may follow a rollback, so both must end.
      const [checked, changed] = await Promise.allSettled([check, change(tx)])
      if (checked.status === 'rejected') throw checked.reason
      if (checked.value.length === 0) {
        throw new Error('The transaction was refused: this replica is no longer the leader.')
      }
      if (changed.status === 'rejected') throw changed.reason
      return changed.value
    }, beginsWithReads)
}
