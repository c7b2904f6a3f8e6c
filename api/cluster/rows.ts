import { and, eq, inArray, like, notInArray, sql } from 'drizzle-orm'
import type { Database, Transaction } from '#api/db/client.ts'
import { deployments, type WorldRow, worlds } from '#api/worlds/table.ts'
import type { KubeError } from '#shared/kube/errors.ts'
import type { ObjectMeta } from '#shared/kube/objects.ts'
import { isOlder } from '#shared/kube/versions.ts'
import type { World, WorldSpec } from '#shared/resources/world.ts'
import type { Verdict } from './observe.ts'

/** How a status message starts that push wrote; it goes with the first push that succeeds. */
const waitingPrefix = 'waiting for the cluster: '

/**
 * Remembers what was applied, unless something newer was remembered meanwhile. The version never goes back: pull may
 * have seen a later one than the answer of the apply, and a push that sent the earlier one would conflict for ever.
 */
export const recordApplied = (
  db: Database,
  row: WorldRow,
  applied: WorldSpec,
  { uid, resourceVersion }: ObjectMeta,
): Promise<void> =>
  db.transaction(async (tx) => {
    const now = await lockRow(tx, row.id)
    if (now === undefined || (now.applied?.revision ?? 0) > row.revision) return
    await tx
      .update(worlds)
      .set({ applied, ...newestVersion(now, { uid, resourceVersion }) })
      .where(eq(worlds.id, row.id))
  })

/** The row, locked until the transaction ends; undefined where it is gone. */
export const lockRow = async (tx: Transaction, id: string): Promise<WorldRow | undefined> => {
  const [row] = await tx.select().from(worlds).where(eq(worlds.id, id)).for('update')
  return row
}

type Seen = { uid?: string | undefined; resourceVersion?: string | undefined }

/** Whether the row has already seen a later version of the same resource. */
export const isOutdated = (row: WorldRow, { uid, resourceVersion }: Seen): boolean =>
  row.resourceUid === uid &&
  row.appliedResourceVersion !== null &&
  resourceVersion !== undefined &&
  isOlder(resourceVersion, row.appliedResourceVersion)

/** The columns that name the resource, with the later of the two versions. */
export const newestVersion = (row: WorldRow, seen: Seen) => ({
  resourceUid: seen.uid ?? null,
  appliedResourceVersion: isOutdated(row, seen) ? row.appliedResourceVersion : (seen.resourceVersion ?? null),
})

/** Tells the readers of a world that its cluster does not take it, and why; writes only what is not there already. */
export const sayWaiting = async (db: Database, worldId: string, error: KubeError): Promise<void> => {
  const why = error.status === 0 || error.status >= 500 ? 'its API server does not answer' : error.message
  const statusMessage = `${waitingPrefix}${why}`.slice(0, 1024)
  await db
    .update(worlds)
    .set({ statusMessage, statusVersion: sql`${worlds.statusVersion} + 1` })
    .where(and(eq(worlds.id, worldId), sql`${worlds.statusMessage} <> ${statusMessage}`))
}

/** Takes back what `sayWaiting` said. */
export const clearWaiting = async (db: Database, row: WorldRow): Promise<void> => {
  if (!row.statusMessage.startsWith(waitingPrefix)) return
  await db
    .update(worlds)
    .set({ statusMessage: '', statusVersion: sql`${worlds.statusVersion} + 1` })
    .where(and(eq(worlds.id, row.id), like(worlds.statusMessage, `${waitingPrefix}%`)))
}

/** Writes what was observed: the row's columns and the history of deployments, which change together or not at all. */
export const recordObserved = async (tx: Transaction, row: WorldRow, live: World, verdict: Verdict): Promise<void> => {
  if (verdict.observed !== undefined) {
    await tx
      .update(worlds)
      .set({ ...verdict.observed, statusVersion: sql`${worlds.statusVersion} + 1` })
      .where(eq(worlds.id, row.id))
  }
  await recordDeployments(tx, row, live, verdict)
}

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
          build: { ...(run.contentId === undefined ? {} : { content: { id: run.contentId } }) },
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
        setWhere: sql`(${deployments.status}, ${deployments.externalId}) is distinct from (${current.status}, ${current.externalId})`,
      })
    await closeOlder(tx, row, verdict)
  }
}

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

/** The rows whose resource is not among those that a full list showed, by id. */
export const vanishedRows = async (
  db: Database,
  cluster: string,
  present: ReadonlySet<string>,
): Promise<WorldRow[]> => {
  const applied = await db
    .select()
    .from(worlds)
    .where(and(eq(worlds.cluster, cluster), sql`${worlds.resourceUid} is not null`))
  return applied.filter((row) => !present.has(row.id))
}

/** Forgets the resource of a row, so that the next push makes it anew. */
export const forgetResource = (tx: Transaction, ids: readonly string[]) =>
  tx
    .update(worlds)
    .set({ applied: null, appliedResourceVersion: null, resourceUid: null })
    .where(inArray(worlds.id, [...ids]))
