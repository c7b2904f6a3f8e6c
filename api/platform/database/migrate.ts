import { fileURLToPath } from 'node:url'
import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate } from 'drizzle-orm/node-postgres/migrator'
import { openSession } from './pool.ts'

/** The key of the advisory lock. It must differ from all other advisory locks of the product. */
const migrationLock = 7_211_403
const folder = fileURLToPath(new URL('migrations', import.meta.url))

/**
 * Migrates the database to the newest schema. A session-level advisory lock serialises replicas that start together,
 * because the migrator takes no lock.
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
