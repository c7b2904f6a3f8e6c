import { fileURLToPath } from 'node:url'
import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate } from 'drizzle-orm/node-postgres/migrator'
import { openSession, type Session } from './pool.ts'

/** The key of the advisory lock. It must differ from all other advisory locks of the product. */
const migrationLock = 7_211_403
const folder = fileURLToPath(new URL('migrations', import.meta.url))

/**
 * Migrates the database to the newest schema. A session-level advisory lock serialises replicas that start together,
 * because the migrator takes no lock. If the API has a role of its own, grants it the rights that it needs.
 */
export const migrateDatabase = async ({ url, ownerUrl = url }: { url: string; ownerUrl?: string }): Promise<void> => {
  const session = await openSession({ connectionString: ownerUrl })
  try {
    await session.client.query('select pg_advisory_lock($1)', [migrationLock])
    await migrate(drizzle(session.client), { migrationsFolder: folder })
    const role = decodeURIComponent(new URL(url).username)
    if (role !== decodeURIComponent(new URL(ownerUrl).username)) await grantToApi(session.client, role)
  } finally {
    await session.close()
  }
}

/** The tables that the API's role may read and extend, and not change. */
const appendOnly = ['audit_records']

/**
 * Grants the API's role its rights: to read and write all tables but the append-only ones. Partitions are reached through
 * their tables, which needs no right of their own.
 */
const grantToApi = async (owner: Session['client'], role: string): Promise<void> => {
  const name = owner.escapeIdentifier(role)
  const { rows } = await owner.query<{ table: string }>(`
    select relname as table from pg_class
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition`)
  await owner.query(`grant usage on schema ${owner.escapeIdentifier(await schemaOf(owner))} to ${name}`)
  for (const { table } of rows) {
    const rights = appendOnly.includes(table) ? 'select, insert' : 'select, insert, update, delete'
    await owner.query(`grant ${rights} on ${owner.escapeIdentifier(table)} to ${name}`)
  }
}

const schemaOf = async (owner: Session['client']): Promise<string> =>
  (await owner.query<{ name: string }>('select current_schema() as name')).rows[0]?.name ?? 'public'
