import { and, eq, getTableColumns, notInArray, type SQL, sql } from 'drizzle-orm'
import { observedEvents } from '#api/domain/worlds/events/changes.ts'
import { recordWorldEvents } from '#api/domain/worlds/events/service.ts'
import { durationOf } from '#api/domain/worlds/runs/service.ts'
import { type DeploymentRow, deployments, type WorldRow, whereOpen, worlds } from '#api/domain/worlds/table.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { prepared } from '#api/platform/database/prepared.ts'
import type { Verdict } from '#api/sync/merge/observe.ts'
import { hasEnded } from '#shared/domain/phases.ts'
import { deploymentIdOfRun, type NewId } from '#shared/ids.ts'
import { withDefined } from '#shared/optional.ts'
import type { World, WorldRun } from '#shared/resources/world.ts'
import { scalingProfiles } from '#shared/scalingProfiles.ts'

/** Returns the row, locked until the end of the transaction, or undefined if it does not exist. */
export const lockRow = async (tx: Transaction, id: string): Promise<WorldRow | undefined> => {
  const [row] = await lockQuery(tx).execute({ id })
  return row
}

const lockQuery = prepared((db) =>
  db
    .select()
    .from(worlds)
    .where(eq(worlds.id, sql.placeholder('id')))
    .for('update')
    .prepare('pulled_world'),
)

/** Returns the columns of the observed state that a verdict changes. */
export const observedColumns = (row: WorldRow, live: World, { observed }: Verdict): Partial<WorldRow> => ({
  ...withDefined({ runningCapacity: capturedCapacity(row, live) }),
  ...(observed && { ...observed, statusVersion: row.statusVersion + 1 }),
})

/** Adds the events and the deployments of the observed state, in one round trip. */
export const recordObserved = async (
  tx: Transaction,
  row: WorldRow,
  live: World,
  { verdict, ...made }: { verdict: Verdict; now: Date; newId: NewId },
): Promise<void> => {
  const run = live.status?.run
  const drafts = verdict.observed === undefined ? [] : observedEvents(row, verdict.observed, run)
  await Promise.all([
    recordWorldEvents(tx, { ...row, runId: run?.id ?? row.runId }, drafts, made),
    recordDeployments(tx, row, live, verdict),
  ])
}

/** Returns the capacity of the captured run, which may differ from the row's after a PATCH during the start. */
const capturedCapacity = (row: WorldRow, { status }: World): number | undefined =>
  status?.run !== undefined && status.run.id === row.runId ? scalingProfiles[status.run.profile].capacity : undefined

const recordDeployments = async (tx: Transaction, row: WorldRow, live: World, verdict: Verdict): Promise<void> => {
  const [current] = verdict.deployments
  const run = live.status?.run
  if (current !== undefined && run !== undefined) {
    const settings = {
      networking: { scaling: { profile: run.profile } },
      runtime: { build: buildOf(row, run), mapName: run.mapName, ...durationOf(row), args: run.args },
    }
    const observed = {
      externalId: current.externalId,
      status: current.status,
      image: run.image,
      startedAt: new Date(run.startedAt),
      readyAt: toDate(run.readyAt),
      endedAt: toDate(run.endedAt),
      endReason: run.endReason ?? null,
      exitCode: run.exitCode ?? null,
      restarts: run.restarts,
      capacity: scalingProfiles[run.profile].capacity,
      strategy: run.strategy,
    }
    const upsert = tx
      .insert(deployments)
      .values({
        id: current.id,
        organizationId: row.organizationId,
        projectId: row.projectId,
        worldId: row.id,
        runId: run.id,
        ...observed,
        ...settings,
        compute: { ...row.compute, clusterName: row.cluster },
        createdAt: new Date(current.createdAt),
        updatedAt: new Date(current.createdAt),
      })
      .onConflictDoUpdate({
        target: deployments.id,
        // The start wrote the settings that the run should have. The operator reports those that it has.
        set: { ...observed, ...settings, updatedAt: sql`now()` },
        // The id derives from a run id that kubectl can set, so a deployment of another world must not change.
        setWhere: sql`${deployments.worldId} = ${row.id} and (${sql.join(Object.entries(observed).map(whereDiffers), sql` or `)})`,
      })
      .execute()
    await Promise.all([upsert, closeOlder(tx, row, verdict)])
  }
}

const toDate = (instant: string | undefined): Date | null => (instant === undefined ? null : new Date(instant))

const whereDiffers = ([name, value]: [string, unknown]): SQL => {
  const column = getTableColumns(deployments)[name as keyof DeploymentRow]
  return sql`${column} is distinct from ${sql.param(value, column)}`
}

/** Returns the build of a run. For a run that kubectl started only the content id is known. */
const buildOf = ({ runId, resolvedBuild }: WorldRow, run: WorldRun): DeploymentRow['runtime']['build'] => ({
  ...(runId === run.id && resolvedBuild !== null ? { channelId: resolvedBuild.channelId, id: resolvedBuild.id } : {}),
  ...(run.contentId === undefined ? {} : { content: { id: run.contentId } }),
})

const closeOlder = async (
  tx: Transaction,
  row: WorldRow,
  { deployments: [current, previous] }: Verdict,
): Promise<void> => {
  const ended = { endedAt: sql`coalesce(${deployments.endedAt}, now())` }
  const open = whereOpen(deployments)
  const wasEnded = previous !== undefined && hasEnded(previous)
  // The row of a run that is still to begin is newer than what the operator reports.
  const newer = row.runId === null ? [] : [deploymentIdOfRun(row.runId)]
  const kept = notInArray(deployments.id, [current?.id ?? '', ...(wasEnded ? [previous.id] : []), ...newer])
  const supersede = tx
    .update(deployments)
    .set({
      status: 'Stopped',
      ...ended,
      endReason: sql`coalesce(${deployments.endReason}, 'Superseded')`,
      updatedAt: sql`now()`,
    })
    .where(and(eq(deployments.worldId, row.id), kept, open))
  const end = wasEnded
    ? tx
        .update(deployments)
        .set({ status: previous.status, ...ended, updatedAt: sql`now()` })
        .where(and(eq(deployments.worldId, row.id), eq(deployments.id, previous.id), open))
    : undefined
  await Promise.all([supersede, end])
}
