import { and, eq, inArray, isNull, sql } from 'drizzle-orm'
import { botDeployments } from '#api/domain/bots/table.ts'
import { endDocuments } from '#api/domain/documents/sweep/service.ts'
import { worlds } from '#api/domain/worlds/table.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { markAllDirty } from '#api/platform/outbox/outbox.ts'

type Beneath = { readonly organizationId: string; readonly projectId: string; readonly worldId?: string }

/**
 * Marks the world, or all worlds of a project, and their bots as deleting, and all of them dirty, in the transaction of
 * whoever deletes: from its commit on they are in no answer, and push takes them down. Their documents end at once.
 * Returns how many worlds it was.
 */
export const markDeleting = async (
  tx: Transaction,
  { organizationId, projectId, worldId }: Beneath,
  now: Date,
): Promise<{ worlds: number }> => {
  const gone = await tx
    .update(worlds)
    .set({ deletingAt: now, revision: sql`${worlds.revision} + 1`, updatedAt: now })
    .where(
      and(
        eq(worlds.organizationId, organizationId),
        eq(worlds.projectId, projectId),
        worldId === undefined ? undefined : eq(worlds.id, worldId),
        isNull(worlds.deletingAt),
      ),
    )
    .returning({ id: worlds.id, revision: worlds.revision })
  await markAllDirty(tx, 'world', gone, now.getTime())
  await markBotsDeleting(
    tx,
    gone.map(({ id }) => id),
    now,
  )
  await endDocuments(tx, { organizationId, projectId, worldId: worldId ?? '' }, now)
  return { worlds: gone.length }
}

/** Marks the bots of worlds as deleting, and dirty. */
export const markBotsDeleting = async (tx: Transaction, worldIds: readonly string[], now: Date): Promise<void> => {
  if (worldIds.length === 0) return
  const gone = await tx
    .update(botDeployments)
    .set({ deletingAt: now, revision: sql`${botDeployments.revision} + 1`, updatedAt: now })
    .where(and(inArray(botDeployments.worldId, [...worldIds]), isNull(botDeployments.deletingAt)))
    .returning({ id: botDeployments.id, revision: botDeployments.revision })
  await markAllDirty(tx, 'bot', gone, now.getTime())
}
