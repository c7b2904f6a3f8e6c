import { and, eq, isNull, sql } from 'drizzle-orm'
import type { ScopeIds, ScopeKind } from '#api/domain/access/scope.ts'
import { organizations } from '#api/domain/organizations/table.ts'
import { projects } from '#api/domain/projects/table.ts'
import { worlds } from '#api/domain/worlds/table.ts'
import type { Database } from '#api/platform/database/client.ts'

/** The database or a transaction. */
type Reader = Pick<Database, 'select'>

const organizationId = sql.placeholder('organizationId')
const projectId = sql.placeholder('projectId')
const worldId = sql.placeholder('worldId')
const whereProject = and(eq(projects.organizationId, organizationId), eq(projects.id, projectId))
const whereWorld = and(
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
      .where(and(eq(organizations.id, organizationId), isNull(organizations.deletingAt)))
      .prepare('scope_organization'),
  project: (db: Reader) =>
    db
      .select({ id: projects.id })
      .from(projects)
      .where(and(whereProject, isNull(projects.deletingAt)))
      .prepare('scope_project'),
  world: (db: Reader) => db.select({ id: worlds.id }).from(worlds).where(whereWorld).prepare('scope_world'),
}

/**
 * Returns a function that reports whether every id of a scope exists under the one above it. A scope that is being deleted
 * does not exist.
 */
export const createScopeLookup = (db: Reader) => {
  const queries = {
    organization: scopeQueries.organization(db),
    project: scopeQueries.project(db),
    world: scopeQueries.world(db),
  }
  return async (kind: ScopeKind, ids: ScopeIds): Promise<boolean> =>
    (await queries[kind].execute({ ...ids })).length > 0
}

/** Reports in a transaction whether a scope exists, as `createScopeLookup` does. */
export const scopeExistsIn = async (tx: Reader, kind: ScopeKind, ids: ScopeIds): Promise<boolean> =>
  (await scopeQueries[kind](tx).execute({ ...ids })).length > 0
