import { and, eq, notInArray, sql } from 'drizzle-orm'
import { type DeploymentRow, deployments, type WorldRow, worlds } from '#api/domain/worlds/table.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import type { World, WorldRun } from '#shared/resources/world.ts'
import { scalingProfiles } from '#shared/scalingProfiles.ts'
import type { Verdict } from './observe.ts'

/** Returns the row, locked until the end of the transaction, or undefined if it does not exist. */
export const lockRow = async (tx: Transaction, id: string): Promise<WorldRow | undefined> => {
  const [row] = await tx.select().from(worlds).where(eq(worlds.id, id)).for('update')
  return row
}

/** Writes the observed state to the row and to the history of deployments, in one transaction. */
export const recordObserved = async (tx: Transaction, row: WorldRow, live: World, verdict: Verdict): Promise<void> => {
  const runningCapacity = frozenCapacity(row, live) ?? row.runningCapacity
  if (runningCapacity !== row.runningCapacity) {
    await tx.update(worlds).set({ runningCapacity }).where(eq(worlds.id, row.id))
  }
  if (verdict.observed !== undefined) {
    await tx
      .update(worlds)
      .set({ ...verdict.observed, statusVersion: sql`${worlds.statusVersion} + 1` })
      .where(eq(worlds.id, row.id))
  }
  await recordDeployments(tx, row, live, verdict)
}

/** Returns the capacity of the frozen run, which may differ from the row's after a PATCH during the start. */
const frozenCapacity = (row: WorldRow, { status }: World): number | undefined =>
  status?.run !== undefined && status.run.id === row.runId ? scalingProfiles[status.run.profile].capacity : undefined

const recordDeployments = async (tx: Transaction, row: WorldRow, live: World, verdict: Verdict): Promise<void> => {
  const [current] = verdict.deployments
  const run = live.status?.run
  if (current !== undefined && run !== undefined) {
    await tx
      .insert(deployments)
      .values({
        id: current.id,
        organizationId: row.organizationId,
        projectId: row.projectId,
        worldId: row.id,
        runId: run.id,
        externalId: current.externalId,
        status: current.status,
        networking: { scaling: { profile: run.profile } },
        compute: { ...row.compute, clusterName: row.cluster },
        runtime: {
          build: buildOf(row, run),
          mapName: run.mapName,
          ...(row.runtime.durationMinutes === undefined ? {} : { durationMinute: row.runtime.durationMinutes }),
          args: run.args,
        },
        createdAt: new Date(current.createdAt),
        updatedAt: new Date(current.createdAt),
      })
      .onConflictDoUpdate({
        target: deployments.id,
        set: { externalId: current.externalId, status: current.status, updatedAt: sql`now()` },
        // The id derives from a run id that kubectl can set, so a deployment of another world must not change.
        setWhere: sql`${deployments.worldId} = ${row.id} and (${deployments.status}, ${deployments.externalId}) is distinct from (${current.status}, ${current.externalId})`,
      })
    await closeOlder(tx, row, verdict)
  }
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
  const open = notInArray(deployments.status, ['Stopped', 'Error'])
  if (previous !== undefined && (previous.status === 'Error' || previous.status === 'Stopped')) {
    await tx
      .update(deployments)
      .set({ status: previous.status, updatedAt: sql`now()` })
      .where(and(eq(deployments.worldId, row.id), eq(deployments.id, previous.id), open))
  }
  await tx
    .update(deployments)
    .set({ status: 'Stopped', updatedAt: sql`now()` })
    .where(and(eq(deployments.worldId, row.id), sql`${deployments.id} <> ${current?.id ?? ''}`, open))
}
