import type { Database } from './client.ts'

/**
 * A query that is prepared once a database and then only executed: drizzle builds the text of any other query anew each
 * time, which costs more than Postgres takes to answer it.
 */
export const prepared = <Query>(prepare: (db: Database) => Query): ((db: Database) => Query) => {
  const known = new WeakMap<Database, Query>()
  return (db) => {
    const found = known.get(db) ?? prepare(db)
    known.set(db, found)
    return found
  }
}
