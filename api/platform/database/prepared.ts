import type { Database, Transaction } from './client.ts'

type Builder = Pick<Transaction, 'select' | 'update' | 'delete'>

/**
 * Returns a query that is built once for the pool, and once for each connection that executes it in a transaction.
 * Building the SQL text with drizzle for each call costs more than Postgres needs to execute it.
 */
export const prepared = <Query>(prepare: (db: Builder) => Query): ((db: Database | Transaction) => Query) => {
  const queries = new WeakMap<object, Query>()
  return (db) => {
    const client = clientOf(db)
    const query = queries.get(client) ?? prepare(db)
    queries.set(client, query)
    return query
  }
}

/**
 * Returns the pool, or the connection of a transaction. A query that is built in a transaction refers only to its connection, so
 * later transactions can use it.
 */
const clientOf = (db: Database | Transaction): object => {
  if ('$client' in db) return db.$client
  // The types of drizzle do not show the connection of a session.
  const { session } = db._ as unknown as { session: { client: object } }
  return session.client
}
