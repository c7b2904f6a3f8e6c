import { and, eq, inArray, ne, sql } from 'drizzle-orm'
import { deployments, type WorldRow, whereOpen } from '#api/domain/worlds/table.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { waitingStatuses } from '#shared/domain/phases.ts'
import { deploymentIdOfRun } from '#shared/ids.ts'
import { withDefined } from '#shared/optional.ts'

/** The number of deployments that are kept of a world, the newest. */
const maxDeployments = 1_000

/**
 * Adds the deployment of a run that starts now, in the transaction of the start. The operator's report completes it. The
 * oldest deployments above `maxDeployments` are deleted.
 */
export const recordStart = async (tx: Transaction, row: WorldRow & { runId: string }, now: Date): Promise<void> => {
  const id = deploymentIdOfRun(row.runId)
  const ending = endUnseen(tx, row.id, { endReason: 'Superseded', now, exceptId: id })
  const insert = tx
    .insert(deployments)
    .values({
      id,
      organizationId: row.organizationId,
      projectId: row.projectId,
      worldId: row.id,
      runId: row.runId,
      externalId: '',
      status: 'Pending',
      networking: { scaling: { profile: row.networking.scaling.profile } },
      capacity: row.estimatedCapacity,
      strategy: row.networking.strategy,
      compute: { ...row.compute, clusterName: row.targetCluster ?? row.cluster },
      runtime: { build: buildOf(row), mapName: row.runtime.mapName, ...durationOf(row), args: [] },
      startedAt: now,
      createdAt: now,
      updatedAt: now,
    })
    .onConflictDoNothing()
    .execute()
  const oldest = sql`(select id from ${deployments} where world_id = ${row.id}
    order by created_at desc, id desc offset ${maxDeployments})`
  const removal = tx.delete(deployments).where(sql`${deployments.id} in ${oldest}`).execute()
  await Promise.all([ending, insert, removal])
}

/** Ends the deployments of runs that have no pod, except that of `exceptId`. If the operator has made a pod meanwhile, its report corrects the end. */
export const endUnseen = async (
  tx: Transaction,
  worldId: string,
  { endReason, now, exceptId }: { endReason: 'Stopped' | 'Superseded'; now: Date; exceptId?: string },
): Promise<void> => {
  await tx
    .update(deployments)
    .set({ status: 'Stopped', endedAt: now, endReason, updatedAt: now })
    .where(
      and(
        eq(deployments.worldId, worldId),
        inArray(deployments.status, waitingStatuses),
        sql`${deployments.externalId} = ''`,
        exceptId === undefined ? undefined : ne(deployments.id, exceptId),
      ),
    )
    .execute()
}

/** Ends all deployments of a world whose resource no longer exists, so that none counts for ever. */
export const endAll = async (tx: Transaction, worldId: string): Promise<void> => {
  await tx
    .update(deployments)
    .set({
      status: 'Stopped',
      endedAt: sql`coalesce(${deployments.endedAt}, now())`,
      endReason: sql`coalesce(${deployments.endReason}, 'Stopped')`,
      updatedAt: sql`now()`,
    })
    .where(and(eq(deployments.worldId, worldId), whereOpen(deployments)))
}

/** Returns the time limit of a run as a member of its deployment. */
export const durationOf = ({ runtime }: WorldRow): { durationMinute?: number } =>
  withDefined({ durationMinute: runtime.durationMinutes })

const buildOf = ({ resolvedBuild }: WorldRow) =>
  resolvedBuild === null
    ? {}
    : { channelId: resolvedBuild.channelId, id: resolvedBuild.id, content: { id: resolvedBuild.contentId } }
