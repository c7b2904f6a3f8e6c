import { fileURLToPath } from 'node:url'
import { drizzle } from 'drizzle-orm/postgres-js'
import { migrate } from 'drizzle-orm/postgres-js/migrator'
import postgres from 'postgres'

/** Any constant that no other advisory lock of the product has. */
const migrationLock = 7_211_403
const folder = fileURLToPath(new URL('migrations', import.meta.url))

/**
 * Brings the database to the newest schema. Replicas that start together take turns by an advisory lock, since the
 * migrator takes none; the lock belongs to the one session of this client.
 */
export const migrateDatabase = async (url: string): Promise<void> => {
  const client = postgres(url, { max: 1, connect_timeout: 5, onnotice: () => undefined })
  try {
    await client`select pg_advisory_lock(${migrationLock})`
    await migrate(drizzle(client), { migrationsFolder: folder })
  } finally {
    await client.end({ timeout: 5 })
  }
}
