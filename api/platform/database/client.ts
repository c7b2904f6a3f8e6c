import type { SQL } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
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
export const openDatabase = (options: DatabaseOptions) => {
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
  const db = drizzle(pool, { casing: 'snake_case' })
  return { db, close: () => Promise.race([pool.end(), sleep(systemClock, closeTimeoutMs)]) }
}

/**
 * The configuration of a transaction that sends `begin` with its first queries, in one round trip. Until these have ended, it must only
 * read and lock rows. If Postgres refuses to begin, they were executed outside of a transaction, and no other query is sent.
 */
export const beginsWithReads = { accessMode: 'read write' } as const

/** A pool of connections. Each query may use another one. */
export type Database = ReturnType<typeof openDatabase>['db']
/** A transaction. Its queries share one connection and are committed together. */
export type Transaction = Parameters<Parameters<Database['transaction']>[0]>[0]

/**
 * Sends plain SQL at once and returns the rows as Postgres does: columns in snake case, bigint, JSON and instants as text. The driver
 * prepares a statement that is used often (`statements.ts`). Hot statements of transactions are plain SQL, since drizzle takes longer to
 * build many of its own than Postgres to execute them.
 */
export const query = async <Row extends Record<string, unknown>>(db: Database | Transaction, statement: SQL) =>
  (await db.execute<Row>(statement).execute()).rows
