import { and, eq, isNull, ne, sql } from 'drizzle-orm'
import { botDeployments } from '#api/domain/bots/table.ts'
import { worlds } from '#api/domain/worlds/table.ts'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { markAllDirty } from '#api/platform/outbox/outbox.ts'

/**
 * Returns the cluster that bots move to, and records it first. Returns null if they stay, and 'later' if they have arrived
 * before their world.
 */
export const recordBotsTarget = async (db: Database, id: string): Promise<string | 'later' | null> => {
  const [row] = await db
    .select({
      cluster: botDeployments.cluster,
      targetCluster: botDeployments.targetCluster,
      worldCluster: worlds.cluster,
      worldTarget: worlds.targetCluster,
    })
    .from(botDeployments)
    .innerJoin(worlds, eq(worlds.id, botDeployments.worldId))
    .where(eq(botDeployments.id, id))
  if (row === undefined) return null
  const wanted = row.worldTarget ?? row.worldCluster
  if (row.targetCluster === null && wanted === row.cluster) return row.worldCluster === row.cluster ? null : 'later'
  if (row.targetCluster !== wanted) {
    await db.update(botDeployments).set({ targetCluster: wanted }).where(eq(botDeployments.id, id))
  }
  return wanted
}

/** Marks the bots of a world dirty that are neither in a cluster nor on their way to it. */
export const markBotsElsewhere = async (db: Database, worldId: string, cluster: string): Promise<void> =>
  db.transaction(async (tx) => {
    const isOnItsWay = sql`${botDeployments.targetCluster} is not distinct from ${cluster}`
    const others = await selectBots(tx, worldId, and(ne(botDeployments.cluster, cluster), sql`not (${isOnItsWay})`))
    await markAllDirty(tx, 'bot', others)
  })

const selectBots = (tx: Transaction, worldId: string, more?: ReturnType<typeof and>) =>
  tx
    .select({ id: botDeployments.id, revision: botDeployments.revision })
    .from(botDeployments)
    .where(and(eq(botDeployments.worldId, worldId), isNull(botDeployments.removedAt), more))

/** Gives the bots of a moved world its new name, and marks all of them dirty. */
export const renameWorldOfBots = async (tx: Transaction, worldId: string): Promise<void> => {
  await tx
    .update(botDeployments)
    .set({ worldName: worldId, revision: sql`${botDeployments.revision} + 1` })
    .where(and(eq(botDeployments.worldId, worldId), ne(botDeployments.worldName, worldId)))
  await markAllDirty(tx, 'bot', await selectBots(tx, worldId))
}
