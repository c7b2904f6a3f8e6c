import { and, desc, eq, isNull, sql } from 'drizzle-orm'
import { type ApiKeyRow, apiKeys, signingKeys } from '#api/domain/apiKeys/table.ts'
import type { Depth } from '#api/domain/endpoint/endpoint.ts'
import type { KeyStore } from '#api/platform/auth/issuer.ts'
import type { FoundKey } from '#api/platform/auth/keyCache.ts'
import { type Principal, permissionsOfBot } from '#api/platform/auth/principal.ts'
import type { Database } from '#api/platform/database/client.ts'
import { organizations, projects, worlds } from '#api/schema.ts'
import type { ScopeIds } from './context.ts'

/** What both the database and a transaction of it can do. */
type Reader = Pick<Database, 'select'>

const organizationId = sql.placeholder('organizationId')
const projectId = sql.placeholder('projectId')
const worldId = sql.placeholder('worldId')
const inProject = and(eq(projects.organizationId, organizationId), eq(projects.id, projectId))
const inWorld = and(
  eq(worlds.organizationId, organizationId),
  eq(worlds.projectId, projectId),
  eq(worlds.id, worldId),
  isNull(worlds.deletingAt),
)
const scopeQueries = {
  organization: (db: Reader) =>
    db
      .select({ id: organizations.id })
      .from(organizations)
      .where(eq(organizations.id, organizationId))
      .prepare('scope_organization'),
  project: (db: Reader) =>
    db
      .select({ id: projects.id })
      .from(projects)
      .where(and(inProject, isNull(projects.deletingAt)))
      .prepare('scope_project'),
  world: (db: Reader) => db.select({ id: worlds.id }).from(worlds).where(inWorld).prepare('scope_world'),
}

/** Looks whether the whole chain of ids exists and belongs together; what is being deleted does not exist. */
export const createScopeLookup = (db: Reader) => {
  const queries = {
    organization: scopeQueries.organization(db),
    project: scopeQueries.project(db),
    world: scopeQueries.world(db),
  }
  return async (depth: Depth, ids: ScopeIds): Promise<boolean> => (await queries[depth].execute({ ...ids })).length > 0
}

/** The same look in a transaction. */
export const scopeExistsIn = async (tx: Reader, depth: Depth, ids: ScopeIds): Promise<boolean> =>
  (await scopeQueries[depth](tx).execute({ ...ids })).length > 0

/** The columns of a key that its principal is made of. */
export const principalColumns = {
  id: apiKeys.id,
  organizationId: apiKeys.organizationId,
  permissions: apiKeys.permissions,
  claims: apiKeys.claims,
}

/** Returns a look-up of keys by fingerprint. An inactive key is found without a principal. */
export const createKeyLookup = (db: Database) => {
  const query = db
    .select({ ...principalColumns, isActive: apiKeys.isActive })
    .from(apiKeys)
    .where(eq(apiKeys.fingerprint, sql.placeholder('fingerprint')))
    .prepare('key_by_fingerprint')
  return async (fingerprint: string): Promise<FoundKey | undefined> => {
    const [row] = await query.execute({ fingerprint })
    return row && { id: row.id, principal: row.isActive ? principalOfKey(row) : undefined }
  }
}

/** Who an active key belongs to, by its row. */
export const principalOfKey = (row: Pick<ApiKeyRow, keyof typeof principalColumns>): Principal => {
  const claims = Object.entries(row.claims).flatMap(([claim, granted]) => (granted ? [claim] : []))
  const who = { kind: 'key', id: row.id, bucket: `${row.organizationId} key ${row.id}` } as const
  // A bot's key has no other ability beside its one, whatever claims it was given.
  if (claims.includes('bot')) return { ...who, permissions: permissionsOfBot(row.permissions), claims: ['bot'] }
  return { ...who, permissions: row.permissions, claims }
}

/** The table of signing keys, the newest first. */
export const createKeyStore = (db: Database, now: () => number): KeyStore => ({
  list: () => db.select().from(signingKeys).orderBy(desc(signingKeys.generation)),
  add: async (key) => {
    const next = sql`(select coalesce(max(${signingKeys.generation}), 0) + 1 from ${signingKeys})`
    await db
      .insert(signingKeys)
      .values({ ...key, generation: next, createdAt: new Date(now()) })
      .onConflictDoNothing()
  },
})
