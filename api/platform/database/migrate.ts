import { fileURLToPath } from 'node:url'
import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate } from 'drizzle-orm/node-postgres/migrator'
import { openSession } from './pool.ts'

/** Any constant that no other advisory lock of the product has. */
const migrationLock = 7_211_403
const folder = fileURLToPath(new URL('migrations', import.meta.url))

/**
 * Brings the database to the newest schema. Replicas that start together take turns by an advisory lock, since the
 * migrator takes none; the lock belongs to the session, and goes with it.
 */
export const migrateDatabase = async (url: string): Promise<void> => {
  const session = await openSession({ connectionString: url })
  try {
    await session.client.query('select pg_advisory_lock($1)', [migrationLock])
    await migrate(drizzle(session.client), { migrationsFolder: folder })
  } finally {
    await session.close()
  }
}
