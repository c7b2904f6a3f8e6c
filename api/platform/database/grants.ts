import { randomBytes } from 'node:crypto'
import { scramVerifier } from '#api/platform/secrets/scramVerifier.ts'
import type { Session } from './pool.ts'
import { SchemaError } from './schemaError.ts'

type Owner = Session['client']

/** The tables that the API's role may read and extend, and not change. */
const appendOnly = ['audit_records']
/** The schema and the table in which the migrator records what it has applied. */
export const records = { schema: 'drizzle', table: 'drizzle.__drizzle_migrations' }

/**
 * Creates the API's role unless it exists, and checks that it has none of the owner's rights. Throws a `SchemaError` that says
 * what to do. Another program may be about to create the role, so its absence may pass.
 */
export const prepareRole = async (
  owner: Owner,
  { role, password }: { role: string; password: string },
): Promise<void> => {
  const roles = await owner.query('select 1 from pg_roles where rolname = $1', [role])
  if (roles.rows.length === 0) await createRole(owner, role, password)
  await refuseOwnership(owner, role)
}

const createRole = async (owner: Owner, role: string, password: string): Promise<void> => {
  try {
    // Postgres logs a statement that fails.
    const verifier = owner.escapeLiteral(scramVerifier(password, randomBytes(16)))
    await owner.query(`create role ${owner.escapeIdentifier(role)} login password ${verifier}`)
  } catch (error) {
    const { code } = error as { code?: string }
    if (code === roleExists) return
    if (code !== insufficientPrivilege) throw error
    throw new SchemaError(
      `The role ${role} of ORRERY_DATABASE_URL does not exist, and the owner may not create it. ` +
        `Create it as an administrator: create role ${owner.escapeIdentifier(role)} login password '…'`,
      { mayPass: true, cause: error },
    )
  }
}

const roleExists = '42710'
const insufficientPrivilege = '42501'

/** A table of the first migration. The schema may also have tables of other programs. */
const firstTable = 'organizations'

/** Refuses an owner that does not own the tables, and a role of the API that does. */
const refuseOwnership = async (owner: Owner, role: string): Promise<void> => {
  const { rows } = await owner.query<{ table: string; holder: string; isOwn: boolean; isShared: boolean }>(
    `select relname as table, pg_get_userbyid(relowner) as holder, pg_has_role(relowner, 'usage') as "isOwn",
       pg_has_role($1, relowner, 'member') as "isShared"
     from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')`,
    [role],
  )
  const foreign = rows.find(({ table, isOwn }) => table === firstTable && !isOwn)
  if (foreign !== undefined) {
    throw new SchemaError(
      `The role of ORRERY_DATABASE_OWNER_URL does not own the table ${foreign.table}: ${foreign.holder} does. ` +
        `Set ORRERY_DATABASE_OWNER_URL to the URL of ${foreign.holder}, and ORRERY_DATABASE_URL to that of another role.`,
    )
  }
  const shared = rows.find(({ isShared }) => isShared)
  if (shared === undefined) return
  throw new SchemaError(
    `The role ${role} of ORRERY_DATABASE_URL owns the table ${shared.table}, or has the rights of its owner. ` +
      'Set ORRERY_DATABASE_URL to the URL of a role that owns nothing; a role that does not exist yet is created.',
  )
}

/**
 * Grants the API's role its rights: to read and write all tables but the append-only ones, to see which migrations are applied,
 * and to call functions. Partitions are reached through their tables, which needs no right of their own.
 */
export const grantToApi = async (owner: Owner, role: string, functions: readonly string[]): Promise<void> => {
  const name = owner.escapeIdentifier(role)
  const { rows } = await owner.query<{ table: string }>(`
    select relname as table from pg_class
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition
      and pg_has_role(relowner, 'usage')`)
  await owner.query(`grant usage on schema ${await schemaOf(owner)}, ${records.schema} to ${name}`)
  await owner.query(`grant select on ${records.table} to ${name}`)
  for (const { table } of rows) {
    const rights = appendOnly.includes(table) ? 'select, insert' : 'select, insert, update, delete'
    await owner.query(`grant ${rights} on ${owner.escapeIdentifier(table)} to ${name}`)
  }
  for (const each of functions) await owner.query(`grant execute on function ${each} to ${name}`)
}

/** Returns the schema of the tables as a quoted identifier. */
export const schemaOf = async (owner: Owner): Promise<string> => {
  const { rows } = await owner.query<{ name: string }>('select current_schema() as name')
  return owner.escapeIdentifier(rows[0]?.name ?? 'public')
}
