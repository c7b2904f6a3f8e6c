import type { Database } from './client.ts'

/** The maximum number of keys of a query. */
const maxKeys = 32

type Waiting<Key, Row> = {
  readonly key: Key
  readonly resolve: (row: Row | undefined) => void
  readonly reject: (error: unknown) => void
}

/**
 * Returns a read by key that shares its query with the other reads of the same iteration of the event loop. Under load, a row costs
 * a fraction of a round trip to Postgres. A single read is not delayed. `read` returns the rows of distinct keys in their order. A query
 * starts after all its reads were asked for, so that each read sees what was committed before it. If the query fails, all its
 * reads fail with the same error.
 */
export const batched = <Key, Row>(
  read: (db: Database, keys: readonly Key[]) => Promise<readonly (Row | undefined)[]>,
): ((db: Database, key: Key) => Promise<Row | undefined>) => {
  const batches = new WeakMap<Database, Waiting<Key, Row>[]>()
  const run = async (db: Database, batch: readonly Waiting<Key, Row>[]): Promise<void> => {
    if (batches.get(db) === batch) batches.delete(db)
    try {
      const rows = await read(
        db,
        batch.map(({ key }) => key),
      )
      for (const [at, { resolve }] of batch.entries()) resolve(rows[at])
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
  return (db, key) =>
    new Promise((resolve, reject) => {
      const batch = batches.get(db) ?? []
      if (batch.length === 0) {
        batches.set(db, batch)
        setImmediate(run, db, batch)
      }
      batch.push({ key, resolve, reject })
      if (batch.length >= maxKeys) batches.delete(db)
    })
}
