import { and, eq, isNull, sql } from 'drizzle-orm'
import type { Database } from '#api/db/client.ts'
import { organizations, projects, worlds } from '#api/db/schema.ts'

/** How deep a scope goes; a world lies in a project, and a project in an organization. */
export type ScopeDepth = 'organization' | 'project' | 'world'

/** Looks whether the whole chain of ids exists and belongs together; a world that is being deleted does not exist. */
export const createScopeLookup = (db: Database) => {
  const organization = db
    .select({ id: organizations.id })
    .from(organizations)
    .where(eq(organizations.id, sql.placeholder('organizationId')))
    .prepare('scope_organization')
  const project = db
    .select({ id: projects.id })
    .from(projects)
    .where(
      and(
        eq(projects.organizationId, sql.placeholder('organizationId')),
        eq(projects.id, sql.placeholder('projectId')),
      ),
    )
    .prepare('scope_project')
  const world = db
    .select({ id: worlds.id })
    .from(worlds)
    .where(
      and(
        eq(worlds.organizationId, sql.placeholder('organizationId')),
        eq(worlds.projectId, sql.placeholder('projectId')),
        eq(worlds.id, sql.placeholder('worldId')),
        isNull(worlds.deletingAt),
      ),
    )
    .prepare('scope_world')
  const queries = { organization, project, world }
  return async (
    depth: ScopeDepth,
    ids: { organizationId: string; projectId: string; worldId: string },
  ): Promise<boolean> => (await queries[depth].execute(ids)).length > 0
}
