import { drizzle } from 'drizzle-orm/node-postgres'
import pg from 'pg'
import * as schema from '#api/schema.ts'
import { sleep, systemClock } from '#shared/clock.ts'
import { openPool } from './pool.ts'

/** How the API reaches its database. */
export type DatabaseOptions = { readonly url: string; readonly poolSize: number }

const statementTimeoutMs = 15_000
const closeTimeoutMs = 5_000

// Drizzle parses what is JSON; parsed twice, a text that looks like JSON would become what it looks like.
for (const type of [pg.types.builtins.JSON, pg.types.builtins.JSONB]) pg.types.setTypeParser(type, (text) => text)

/** Opens a pool of sessions; each query has a time limit, and so has the wait for a session. */
export const openDatabase = (options: DatabaseOptions) => {
  const pool = openPool({
    connectionString: options.url,
    max: options.poolSize,
    idleTimeoutMillis: 60_000,
    application_name: 'orrery-api',
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: statementTimeoutMs,
  })
  const db = drizzle(pool, { schema, casing: 'snake_case' })
  return { db, close: () => Promise.race([pool.end(), sleep(systemClock, closeTimeoutMs)]) }
}

/** The database, or a transaction of it. */
export type Database = ReturnType<typeof openDatabase>['db']
export type Transaction = Parameters<Parameters<Database['transaction']>[0]>[0]
