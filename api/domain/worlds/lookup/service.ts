import { and, eq, getTableColumns, isNull, sql } from 'drizzle-orm'
import type { Context } from '#api/domain/access/context.ts'
import { presentWorld } from '#api/domain/worlds/present.ts'
import type { WorldAnswer } from '#api/domain/worlds/schema.ts'
import { launchContexts, shownColumns, worlds } from '#api/domain/worlds/table.ts'
import { batched } from '#api/platform/database/batched.ts'
import { prepared } from '#api/platform/database/prepared.ts'
import { notFound } from '#api/platform/http/problem.ts'

/** A world with the versions that form its entity tag. */
export type TaggedWorld = { world: WorldAnswer; revision: number; statusVersion: number }

type WorldKey = { readonly organizationId: string; readonly projectId: string; readonly worldId: string }

const worldsQuery = prepared((db) =>
  db
    .select({
      world: { ...shownColumns, revision: worlds.revision, statusVersion: worlds.statusVersion },
      context: getTableColumns(launchContexts),
    })
    .from(worlds)
    .innerJoin(launchContexts, eq(launchContexts.worldId, worlds.id))
    .where(and(sql`${worlds.id} = any(${sql.placeholder('worldIds')})`, isNull(worlds.deletingAt)))
    .prepare('worlds_with_context'),
)

/** Clients poll single worlds more than anything else, so these reads share queries. */
const readWorld = batched(async (db, keys: readonly WorldKey[]) => {
  const rows = await worldsQuery(db).execute({ worldIds: [...new Set(keys.map(({ worldId }) => worldId))] })
  const byId = new Map(rows.map((row) => [row.world.id, row]))
  return keys.map(({ organizationId, projectId, worldId }) => {
    const row = byId.get(worldId)
    // The keys of a query belong to several scopes, so the scope is compared here and not in the query.
    return row?.world.organizationId === organizationId && row.world.projectId === projectId ? row : undefined
  })
})

/** Reads one world of the scope. Throws a 404 if the scope has none with this id. */
export const getWorld = async (ctx: Context, worldId: string): Promise<TaggedWorld> => {
  const { organizationId, projectId } = ctx
  const row = await readWorld(ctx.db, { organizationId, projectId, worldId })
  if (row === undefined) throw notFound()
  const { revision, statusVersion } = row.world
  return { world: presentWorld(row.world, row.context, ctx.verb ?? 'r'), revision, statusVersion }
}
