import { fileURLToPath } from 'node:url'
import { readMigrationFiles } from 'drizzle-orm/migrator'
import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate } from 'drizzle-orm/node-postgres/migrator'
import { grantToApi, prepareRole, records, schemaOf } from './grants.ts'
import { definePartitionFunctions, partitionFunctions } from './partitions/functions.ts'
import type { PartitionedTable } from './partitions/plan.ts'
import { openSession, type Session } from './pool.ts'
import { SchemaError } from './schemaError.ts'

/** The key of the advisory lock. It must differ from all other advisory locks of the product. */
const migrationLock = 7_211_403
const migrationsFolder = fileURLToPath(new URL('migrations', import.meta.url))

/** The roles of the database as URLs. Without an owner, one role has everything. */
export type MigrationOptions = {
  readonly url: string
  readonly ownerUrl?: string
  /** The tables whose partitions the API's role maintains. */
  readonly partitioned?: readonly PartitionedTable[]
}

/**
 * Migrates the database to the newest schema as its owner, and defines the functions that maintain partitions. A session-level
 * advisory lock serialises replicas that start together, because the migrator takes no lock. If the API has a role of its own,
 * creates the role if it is missing, and grants it the rights that it needs, also on new tables. Throws a `SchemaError` for a
 * database that other migrations made.
 */
export const migrateDatabase = async ({ url, ownerUrl = url, partitioned = [] }: MigrationOptions): Promise<void> => {
  const api = credentialsOf(url)
  const hasOwnRole = api.role !== credentialsOf(ownerUrl).role
  await asOwner(ownerUrl, async (owner) => {
    if (hasOwnRole) await prepareRole(owner, api)
    await refuseOtherMigrations(owner)
    await migrate(drizzle(owner), { migrationsFolder })
    const functions = partitioned.length === 0 ? [] : partitionFunctions
    if (functions.length > 0) {
      for (const statement of definePartitionFunctions(partitioned, await schemaOf(owner))) await owner.query(statement)
      for (const each of functions) await owner.query(`revoke all on function ${each} from public`)
    }
    if (hasOwnRole) await grantToApi(owner, api.role, functions)
  })
}

/**
 * Refuses a database whose migrations are not the first ones of this version: the migrator compares times only. After a rollback,
 * the database may have further ones.
 */
const refuseOtherMigrations = async (owner: Session['client']): Promise<void> => {
  const found = await owner.query<{ exists: boolean }>('select to_regclass($1) is not null as exists', [records.table])
  if (found.rows[0]?.exists !== true) return
  const applied = await owner.query<{ hash: string }>(`select hash from ${records.table} order by id`)
  const own = readMigrationFiles({ migrationsFolder })
  const at = own.findIndex(({ hash }, index) => hash !== (applied.rows[index]?.hash ?? hash))
  if (at === -1) return
  throw new SchemaError(
    `The database has a migration that this version does not have: number ${at + 1} of ${applied.rows.length}. ` +
      'So another version made its schema, and this one cannot continue it. ' +
      'Run the version that made the database, or give this version a new, empty database.',
  )
}

const asOwner = async (url: string, work: (owner: Session['client']) => Promise<void>): Promise<void> => {
  const session = await openSession({ connectionString: url })
  try {
    await session.client.query('select pg_advisory_lock($1)', [migrationLock])
    await work(session.client)
  } finally {
    await session.close()
  }
}

const credentialsOf = (url: string): { role: string; password: string } => {
  const { username, password } = new URL(url)
  return { role: decodeURIComponent(username), password: decodeURIComponent(password) }
}

/** The SQLSTATE codes of a database that was never migrated: no such table or schema, and no right to see them. */
const neverMigrated = ['42P01', '3F000', '42501']

/** Checks that the owner has migrated the database to at least this version. Throws a `SchemaError` if not. */
export const requireMigrated = async (url: string): Promise<void> => {
  const session = await openSession({ connectionString: url })
  try {
    if (await isMigrated(session.client)) return
  } finally {
    await session.close()
  }
  throw new SchemaError(
    'The database lacks migrations of this version. Run `orrery migrate` with ORRERY_DATABASE_OWNER_URL, ' +
      'the URL of the role that owns the tables, or set that variable for the API.',
  )
}

const isMigrated = async (client: Session['client']): Promise<boolean> => {
  try {
    const { rows } = await client.query<{ newest: string | null; hasFunctions: boolean }>(
      `select max(created_at) as newest, to_regprocedure('drop_partition(text, text)') is not null as "hasFunctions"
       from ${records.table}`,
    )
    const wanted = readMigrationFiles({ migrationsFolder }).at(-1)?.folderMillis ?? 0
    return rows[0]?.hasFunctions === true && Number(rows[0].newest) >= wanted
  } catch (error) {
    if (neverMigrated.includes((error as { code?: string }).code ?? '')) return false
    throw error
  }
}
