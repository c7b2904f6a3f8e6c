import { and, eq, inArray, ne, sql } from 'drizzle-orm'
import { type DeploymentRow, deployments, type WorldRow, whereOpen } from '#api/domain/worlds/table.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { type Builder, columnNames, parametersOf, prepared } from '#api/platform/database/prepared.ts'
import { waitingStatuses } from '#shared/domain/phases.ts'
import { deploymentIdOfRun } from '#shared/ids.ts'
import { withDefined } from '#shared/optional.ts'

/** The number of deployments that are kept of a world, the newest. */
const maxDeployments = 1_000

/**
 * Adds the deployment of a run that starts now, in the transaction of the start. The operator's report completes it. The
 * deployments of runs without a pod end, and the oldest above `maxDeployments` are deleted.
 */
export const recordStart = async (tx: Transaction, row: WorldRow & { runId: string }, now: Date): Promise<void> => {
  const started: DeploymentRow = {
    id: deploymentIdOfRun(row.runId),
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
    image: null,
    startedAt: now,
    readyAt: null,
    endedAt: null,
    endReason: null,
    exitCode: null,
    restarts: 0,
    createdAt: now,
    updatedAt: now,
  }
  await startQuery(tx).execute(started)
}

const startQuery = prepared((db) => {
  const ended = db.$with('ended').as(endUnseenIn(db, 'Superseded').returning())
  const added = db.insert(deployments).values(parametersOf(deployments, columnNames(deployments)))
  // The query for the oldest does not see the deployment that the same statement adds.
  const oldest = sql`(select id from ${deployments} where world_id = ${sql.placeholder('worldId')} and id <> ${sql.placeholder('id')}
    order by created_at desc, id desc offset ${sql.raw(String(maxDeployments - 1))})`
  return db
    .with(ended, db.$with('added').as(added.onConflictDoNothing().returning()))
    .delete(deployments)
    .where(sql`${deployments.id} in ${oldest}`)
    .prepare('started_run')
})

/**
 * Ends the deployments of runs that have no pod, because the world is stopped. If the operator has made a pod meanwhile, its report
 * corrects the end.
 */
export const endUnseen = async (tx: Transaction, worldId: string, now: Date): Promise<void> => {
  // No deployment has an empty id.
  await stopQuery(tx).execute({ worldId, id: '', updatedAt: now })
}

const stopQuery = prepared((db) => endUnseenIn(db, 'Stopped').prepare('ended_unseen'))

/** Returns the update that ends the deployments without a pod of the world `worldId` at `updatedAt`, except `id`. */
const endUnseenIn = (db: Builder, endReason: 'Stopped' | 'Superseded') => {
  const { updatedAt } = parametersOf(deployments, ['updatedAt'])
  return db
    .update(deployments)
    .set({ status: 'Stopped', endedAt: updatedAt, endReason, updatedAt })
    .where(
      and(
        eq(deployments.worldId, sql.placeholder('worldId')),
        inArray(deployments.status, waitingStatuses),
        sql`${deployments.externalId} = ''`,
        ne(deployments.id, sql.placeholder('id')),
      ),
    )
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
