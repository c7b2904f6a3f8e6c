import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres'
import pg from 'pg'
import { sleep, systemClock } from '#shared/clock.ts'
import { openPool } from './pool.ts'

/** The connection settings of the database. */
export type DatabaseOptions = { readonly url: string; readonly poolSize: number }

const statementTimeoutMs = 15_000
/** The longest time without traffic on a connection. No statement runs that long, and no connection is idle that long. */
const silenceMs = 20_000
const idleTimeoutMs = 15_000
const closeTimeoutMs = 5_000

// Drizzle parses JSON columns itself. Parsing twice would change strings that contain JSON.
for (const type of [pg.types.builtins.JSON, pg.types.builtins.JSONB]) pg.types.setTypeParser(type, (text) => text)

/**
 * Opens a connection pool. Queries and the wait for a connection have timeouts. Queries of a transaction that do not wait for each
 * other share a round trip, and Postgres executes them in the order in which they are sent. Call `execute()` on each query of a
 * shared round trip, because it sends the query at once. `await` alone sends it later.
 */
export const openDatabase = (options: DatabaseOptions): { db: Database; close(): Promise<void> } => {
  const pool = openPool({
    connectionString: options.url,
    max: options.poolSize,
    pipeline: true,
    idleTimeoutMillis: idleTimeoutMs,
    silenceMs,
    application_name: 'orrery-api',
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: statementTimeoutMs,
  })
  const db = Object.assign(drizzle({ client: pool, casing: 'snake_case' }), { transaction: createTransactions(pool) })
  return { db, close: () => Promise.race([pool.end(), sleep(systemClock, closeTimeoutMs)]) }
}

/** Queries that drizzle builds. */
export type Queries = Omit<NodePgDatabase, 'transaction'>

/** A pool of connections. Each query may use another one. */
export type Database = Queries & {
  readonly $client: pg.Pool
  /** Runs a function in a transaction, which is committed when the function's promise resolves and rolled back when it rejects. */
  transaction<T>(work: (tx: Transaction) => Promise<T>, mode?: TransactionMode): Promise<T>
}

/** A transaction. Its queries share one connection and are committed together. */
export type Transaction = Queries & {
  readonly $client: pg.PoolClient
  /** Runs a function whose changes are undone if its promise rejects. The transaction goes on. */
  savepoint<T>(work: () => Promise<T>): Promise<T>
}

/** The mode of a transaction: how it begins, and whether its first queries wait until it has begun. */
export type TransactionMode = { readonly begin: string; readonly waits: boolean }

const readWrite: TransactionMode = { begin: 'begin', waits: true }

/**
 * The mode of a transaction that sends `begin` with its first queries, in one round trip. Until these have ended, it must only read
 * and lock rows. If Postgres refuses to begin, they were executed outside of a transaction, and no other query is sent.
 */
export const beginsWithReads: TransactionMode = { begin: 'begin read write', waits: false }

/** The mode of a transaction that fails if another one keeps a row locked for a second. */
export const impatient: TransactionMode = { begin: `begin; set local lock_timeout = '1s'`, waits: true }

/** The longest statement of a scan. It bounds what a scan takes from the requests of others. */
const scanTimeoutMs = 5_000

/**
 * The mode of a transaction that reads many rows. Its queries all read the same state of the database. Each uses one core at most,
 * and Postgres ends it after 5 s.
 */
export const scan: TransactionMode = {
  begin: `begin isolation level repeatable read read only;
    set local statement_timeout = ${scanTimeoutMs}; set local max_parallel_workers_per_gather = 0`,
  waits: true,
}

/**
 * Returns the transactions of a pool. Each connection has one handle for all its transactions, so drizzle's builder is not made
 * again for each.
 */
export const createTransactions = (pool: pg.Pool): Database['transaction'] => {
  const handles = new WeakMap<pg.PoolClient, Transaction>()
  const handleOf = (client: pg.PoolClient): Transaction => {
    const handle = handles.get(client) ?? createHandle(client)
    handles.set(client, handle)
    return handle
  }
  return async (work, mode = readWrite) => {
    const client = await takeConnection(pool)
    let failure: Error | undefined
    try {
      const begun = client.query(mode.begin)
      if (mode.waits) await begun
      // Without a transaction, no query after the first ones may be sent.
      else begun.catch((error: Error) => client.connection.stream.destroy(error))
      const result = await work(handleOf(client))
      await client.query('commit')
      return result
    } catch (error) {
      await client.query('rollback').catch((lost: Error) => {
        failure = lost
      })
      throw error
    } finally {
      client.release(failure)
    }
  }
}

/**
 * Takes a connection. If one fails in the same turn of the event loop in which the pool hands it out, the pool does not notice. Another
 * one is taken then: the pool has removed all that failed with it.
 */
const takeConnection = async (pool: pg.Pool): Promise<pg.PoolClient> => {
  const client = await pool.connect()
  if (client.connection.stream.writable) return client
  client.release(true)
  return pool.connect()
}

const createHandle = (client: pg.PoolClient): Transaction =>
  Object.assign(drizzle({ client, casing: 'snake_case' }), {
    savepoint: async <T>(work: () => Promise<T>): Promise<T> => {
      await client.query('savepoint before')
      try {
        const result = await work()
        await client.query('release savepoint before')
        return result
      } catch (error) {
        await client.query('rollback to savepoint before')
        throw error
      }
    },
  })
