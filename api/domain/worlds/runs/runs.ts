import { and, eq, sql } from 'drizzle-orm'
import { type DeploymentRow, deployments, type WorldRow, whereOpen } from '#api/domain/worlds/table.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { rowsOf } from '#api/platform/database/rows.ts'
import { statement } from '#api/platform/database/statement.ts'
import { waitingStatuses } from '#shared/domain/phases.ts'
import { countServicePorts } from '#shared/domain/ports.ts'
import { runtimeSettings } from '#shared/domain/world.ts'
import { deploymentIdOfRun } from '#shared/ids.ts'
import { withDefined } from '#shared/optional.ts'

/** The maximum number of deployments of a world. The newest are kept. */
const maxDeployments = 1_000

/**
 * Adds the deployment of a run that starts now, in the transaction of the start. The operator's report completes it. The
 * deployments of runs without a pod end, and the oldest above `maxDeployments` are deleted. `row` is the row after the start.
 * `wokenBy` is the caller who woke the world for it.
 */
export const recordStart = async (
  tx: Transaction,
  row: WorldRow,
  now: Date,
  wokenBy: string | null = null,
): Promise<void> => {
  if (row.runId === null) throw new Error('A world without a run cannot have started.')
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
    servicePorts: countServicePorts(row.networking.ports),
    compute: { ...row.compute, clusterName: row.targetCluster ?? row.cluster },
    runtime: { build: buildOf(row), ...runtimeSettings.parse(row.runtime), ...durationOf(row), args: [] },
    image: null,
    startedAt: now,
    readyAt: null,
    endedAt: null,
    endReason: null,
    exitCode: null,
    wokenBy,
    restarts: 0,
    createdAt: now,
    updatedAt: now,
  }
  await addStarted(tx, { ...rows.encode(started), ...endOf(row.id, 'Superseded', { exceptId: started.id, now }) })
}

const rows = rowsOf(deployments)

/**
 * Ends the deployments of runs that have no pod, because the world is stopped. If the operator has made a pod meanwhile, its report
 * corrects the end.
 */
export const endUnseen = async (tx: Transaction, worldId: string, now: Date): Promise<void> => {
  // No deployment has an empty id.
  await endAllUnseen(tx, endOf(worldId, 'Stopped', { exceptId: '', now }))
}

/** Returns the values of the placeholders of `endSql`. */
const endOf = (
  ofWorldId: string,
  reason: 'Stopped' | 'Superseded',
  { exceptId, now }: { exceptId: string; now: Date },
) => ({ ofWorldId, reason, exceptId, now: now.toISOString() })

/** Ends the deployments of a world that have no pod, except one. */
const endSql = sql`
  update deployments
  set status = 'Stopped', ended_at = ${sql.placeholder('now')}, end_reason = ${sql.placeholder('reason')},
    updated_at = ${sql.placeholder('now')}
  where world_id = ${sql.placeholder('ofWorldId')} and status in ${waitingStatuses} and external_id = ''
    and id <> ${sql.placeholder('exceptId')}`

const endAllUnseen = statement<ReturnType<typeof endOf>>(endSql)

// A statement, because it is a part of each start. The query for the oldest does not see the deployment that the same statement adds.
const addStarted = statement(sql`
  with ended as (${endSql}), added as (${rows.insert()} on conflict do nothing)
  delete from deployments where id in (
    select id from deployments where world_id = ${sql.placeholder('ofWorldId')} and id <> ${sql.placeholder('exceptId')}
    order by created_at desc, id desc offset ${sql.raw(String(maxDeployments - 1))}
  )`)

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
