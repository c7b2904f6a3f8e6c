import { drizzle } from 'drizzle-orm/node-postgres'
import pg from 'pg'
import { sleep, systemClock } from '#shared/clock.ts'
import { openPool } from './pool.ts'

/** The connection settings of the database. */
export type DatabaseOptions = { readonly url: string; readonly poolSize: number }

const statementTimeoutMs = 15_000
const closeTimeoutMs = 5_000

// Drizzle parses JSON columns itself. Parsing twice would change strings that contain JSON.
for (const type of [pg.types.builtins.JSON, pg.types.builtins.JSONB]) pg.types.setTypeParser(type, (text) => text)

/** Opens a connection pool. Queries and the wait for a connection have timeouts. */
export const openDatabase = (options: DatabaseOptions) => {
  const pool = openPool({
    connectionString: options.url,
    max: options.poolSize,
    idleTimeoutMillis: 60_000,
    application_name: 'orrery-api',
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: statementTimeoutMs,
  })
  const db = drizzle(pool, { casing: 'snake_case' })
  return { db, close: () => Promise.race([pool.end(), sleep(systemClock, closeTimeoutMs)]) }
}

/** A database handle. */
export type Database = ReturnType<typeof openDatabase>['db']
/** An open transaction. */
export type Transaction = Parameters<Parameters<Database['transaction']>[0]>[0]
