import { drizzle } from 'drizzle-orm/postgres-js'
import postgres from 'postgres'
import * as schema from './schema.ts'

/** How the API reaches its database. */
export type DatabaseOptions = { readonly url: string; readonly poolSize: number }

const connectTimeoutSeconds = 5
const statementTimeoutMs = 15_000

/** Opens a pool; connections are made when needed, and again after the database was away. */
export const openDatabase = (options: DatabaseOptions) => {
  const client = postgres(options.url, {
    max: options.poolSize,
    connect_timeout: connectTimeoutSeconds,
    idle_timeout: 60,
    // Waiting longer and longer for a database that is back would keep answering 503 for nothing.
    backoff: () => 0.25,
    onnotice: () => undefined,
    connection: {
      application_name: 'orrery-api',
      statement_timeout: statementTimeoutMs,
      idle_in_transaction_session_timeout: statementTimeoutMs,
    },
  })
  const db = drizzle(client, { schema, casing: 'snake_case' })
  return { db, close: () => client.end({ timeout: 5 }) }
}

/** The database, or a transaction of it. */
export type Database = ReturnType<typeof openDatabase>['db']
export type Transaction = Parameters<Parameters<Database['transaction']>[0]>[0]

/** Whether a query failed because a unique value was there already. */
export const isUniqueViolation = (error: unknown): boolean =>
  error instanceof Error && error.cause instanceof Error && 'code' in error.cause && error.cause.code === '23505'
