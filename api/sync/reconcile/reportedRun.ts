import { and, eq, sql } from 'drizzle-orm'
import { durationOf } from '#api/domain/worlds/runs/runs.ts'
import { type DeploymentRow, deployments, type WorldRow, whereOpen } from '#api/domain/worlds/table.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { rowsOf } from '#api/platform/database/rows.ts'
import { statement } from '#api/platform/database/statement.ts'
import { hasEnded } from '#shared/domain/phases.ts'
import { countServicePorts } from '#shared/domain/ports.ts'
import { runtimeSettings } from '#shared/domain/world.ts'
import { deploymentIdOfRun } from '#shared/ids.ts'
import type { World, WorldDeploymentStatus, WorldRun } from '#shared/resources/world.ts'
import { scalingProfiles } from '#shared/scalingProfiles.ts'

/** Writes the deployments that the operator reports, the newest first. Older open deployments of the world have ended. */
export const recordDeployments = async (
  tx: Transaction,
  row: WorldRow,
  live: World,
  [current, previous]: readonly WorldDeploymentStatus[],
): Promise<void> => {
  const run = live.status?.run
  if (current === undefined || run === undefined) return
  const reported: DeploymentRow = {
    id: current.id,
    organizationId: row.organizationId,
    projectId: row.projectId,
    worldId: row.id,
    runId: run.id,
    externalId: current.externalId,
    status: current.status,
    networking: { scaling: { profile: run.profile } },
    runtime: { build: buildOf(row, run), ...runtimeSettings.parse(run), ...durationOf(row), args: run.args },
    compute: { ...row.compute, clusterName: row.cluster },
    image: run.image,
    startedAt: new Date(run.startedAt),
    readyAt: toDate(run.readyAt),
    endedAt: toDate(run.endedAt),
    endReason: run.endReason ?? null,
    exitCode: run.exitCode ?? null,
    wokenBy: null,
    restarts: run.restarts,
    capacity: scalingProfiles[run.profile].capacity,
    strategy: run.strategy,
    servicePorts: countServicePorts(run.ports),
    createdAt: new Date(current.createdAt),
    updatedAt: new Date(current.createdAt),
  }
  const ended = previous !== undefined && hasEnded(previous) ? previous : undefined
  // The row of a run that is still to begin is newer than what the operator reports.
  const newerId = row.runId === null ? '' : deploymentIdOfRun(row.runId)
  await Promise.all([
    // No deployment has an empty id.
    report(tx, reported, [reported.id, ended?.id ?? '', newerId]),
    ended && endPrevious(tx, row, ended),
  ])
}

/** The columns of a deployment that change with what the operator observes. */
const observedOfRun = [
  'external_id',
  'status',
  'image',
  'started_at',
  'ready_at',
  'ended_at',
  'end_reason',
  'exit_code',
  'restarts',
  'capacity',
  'strategy',
  'service_ports',
]

// A recorded end is final, and an exit code may follow once. The API may record a stop after the end that the operator reports.
const isCorrected = `deployments.end_reason = 'Stopped' and excluded.ended_at < deployments.ended_at`
const final = (name: string): string =>
  `case when ${isCorrected} then excluded.${name} else coalesce(deployments.${name}, excluded.${name}) end`
const reportedValues: Readonly<Record<string, string>> = {
  ended_at: final('ended_at'),
  end_reason: final('end_reason'),
  exit_code: `case when deployments.end_reason is null then excluded.exit_code else ${final('exit_code')} end`,
}
const [observed, present, next] = [
  sql.raw(observedOfRun.join(', ')),
  sql.raw(observedOfRun.map((name) => `deployments.${name}`).join(', ')),
  sql.raw(observedOfRun.map((name) => reportedValues[name] ?? `excluded.${name}`).join(', ')),
]
const rows = rowsOf(deployments)

/**
 * Writes the deployment that the operator reports, and ends the older open ones of its world, except those in `exceptIds`. The start
 * wrote the settings that the run should have. The operator reports those that it has.
 */
const report = async (tx: Transaction, reported: DeploymentRow, exceptIds: readonly string[]): Promise<void> => {
  await writeReported(tx, { ...rows.encode(reported), exceptIds })
}

// A statement, because each event of a run reports. The id derives from a run id that kubectl can set, so a deployment of another world
// must not change.
const writeReported = statement(sql`
  with reported as (
    ${rows.insert()}
    on conflict (id) do update set
      (${observed}, networking, runtime, updated_at) = row (${next}, excluded.networking, excluded.runtime, now())
    where deployments.world_id = excluded.world_id and (${present}) is distinct from (${next})
  )
  update deployments set
    status = 'Stopped',
    ended_at = coalesce(ended_at, now()),
    end_reason = coalesce(end_reason, 'Superseded'),
    updated_at = now()
  where world_id = ${sql.placeholder('worldId')} and id <> all(${sql.placeholder('exceptIds')}::text[])
    and ${whereOpen(deployments)}`)

const toDate = (instant: string | undefined): Date | null => (instant === undefined ? null : new Date(instant))

/** Returns the build of a run. For a run that kubectl started only the content id is known. */
const buildOf = ({ runId, resolvedBuild }: WorldRow, run: WorldRun): DeploymentRow['runtime']['build'] => ({
  ...(runId === run.id && resolvedBuild !== null ? { channelId: resolvedBuild.channelId, id: resolvedBuild.id } : {}),
  ...(run.contentId === undefined ? {} : { content: { id: run.contentId } }),
})

/** Ends the deployment of the previous run, which the operator reports as ended, if it is open. */
const endPrevious = async (tx: Transaction, row: WorldRow, { id, status }: WorldDeploymentStatus): Promise<void> => {
  await tx
    .update(deployments)
    .set({ status, endedAt: sql`coalesce(${deployments.endedAt}, now())`, updatedAt: sql`now()` })
    .where(and(eq(deployments.worldId, row.id), eq(deployments.id, id), whereOpen(deployments)))
    .execute()
}
