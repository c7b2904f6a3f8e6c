import type { Queries } from './client.ts'

/**
 * Returns a query that drizzle builds and prepares once for each pool. Building it for each call costs more than Postgres needs to
 * execute it. A transaction is another handle each time, so its hot statements are plain SQL instead.
 */
export const prepared = <Query>(prepare: (db: Queries) => Query): ((db: Queries) => Query) => {
  const queries = new WeakMap<Queries, Query>()
  return (db) => {
    const known = queries.get(db) ?? prepare(db)
    queries.set(db, known)
    return known
  }
}
