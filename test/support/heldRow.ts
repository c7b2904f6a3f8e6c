import { Client } from 'pg'
import { eventually } from './wait.ts'

type Table = 'organizations' | 'projects'

/** Locks a row in a session of its own, as a long transaction does. */
export const holdRow = async (databaseUrl: string, table: Table, id: string) => {
  const session = new Client(databaseUrl)
  await session.connect()
  await session.query('begin')
  await session.query(`select from ${table} where id = $1 for update`, [id])
  return {
    /** Resolves when at least this many queries in the database wait for a lock. */
    isWaitedFor: (queries: number) =>
      eventually(`${queries} queries wait for the lock`, async () => {
        await session.query('select pg_stat_clear_snapshot()')
        const { rows } = await session.query(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        )
        return rows.length >= queries
      }),
    /** Also locks a row of another table. Rejects if another transaction keeps it locked. */
    alsoHold: async (other: Table, otherId: string): Promise<void> => {
      await session.query(`set local lock_timeout = '500ms'`)
      await session.query(`select from ${other} where id = $1 for update`, [otherId])
    },
    release: async (): Promise<void> => {
      await session.query('rollback')
      await session.end()
    },
  }
}
