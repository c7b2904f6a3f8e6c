import { getTableColumns } from 'drizzle-orm'
import type { Context } from '#api/domain/access/context.ts'
import { presentWorld } from '#api/domain/worlds/present.ts'
import type { WorldAnswer } from '#api/domain/worlds/schema.ts'
import { launchContexts, shownColumns, worlds } from '#api/domain/worlds/table.ts'
import { batched } from '#api/platform/database/batched.ts'
import { arrayMode, readerOf } from '#api/platform/database/rows.ts'
import { notFound } from '#api/platform/http/problem.ts'

/** A world as it appears in responses, with its revision. */
export type TaggedWorld = { body: WorldAnswer; revision: number }

type WorldKey = { readonly organizationId: string; readonly projectId: string; readonly worldId: string }

const world = readerOf({ ...shownColumns, revision: worlds.revision }, 'worlds')
const context = readerOf(getTableColumns(launchContexts), 'launch_contexts')

/** Plain SQL on the driver, because it is the most frequent query of all, and drizzle takes twice as long to decode a row. */
const worldsQuery = {
  name: 'worlds_with_context',
  text: `
    select ${world.names}, ${context.names}
    from worlds join launch_contexts on launch_contexts.world_id = worlds.id
    where worlds.id = any($1) and worlds.deleting_at is null`,
  ...arrayMode,
}

/** Clients poll single worlds more than anything else, so these reads share queries. */
const readWorld = batched(async (db, keys: readonly WorldKey[]) => {
  const ids = [...new Set(keys.map(({ worldId }) => worldId))]
  const { rows } = await db.$client.query<unknown[]>({ ...worldsQuery, values: [ids] })
  const read = rows.map((row) => ({ world: world.decode(row), context: context.decode(row, world.count) }))
  const byId = new Map(read.map((row) => [row.world.id, row]))
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
  return { body: presentWorld(row.world, row.context, ctx.verb ?? 'r'), revision: row.world.revision }
}
