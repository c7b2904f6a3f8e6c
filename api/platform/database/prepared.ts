import type { Database } from './client.ts'

/**
 * Returns a query that is built once per database and then reused. Building the SQL text with drizzle for each call costs
 * more than Postgres needs to execute it.
 */
export const prepared = <Query>(prepare: (db: Database) => Query): ((db: Database) => Query) => {
  const queries = new WeakMap<Database, Query>()
  return (db) => {
    const query = queries.get(db) ?? prepare(db)
    queries.set(db, query)
    return query
  }
}
