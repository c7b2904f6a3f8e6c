import { and, eq, isNotNull, isNull, or, sql } from 'drizzle-orm'
import { botDeployments } from '#api/domain/bots/table.ts'
import { removeProjectIfEmpty } from '#api/domain/deletion/deletion.ts'
import { organizations } from '#api/domain/organizations/table.ts'
import { endAll } from '#api/domain/worlds/runs/runs.ts'
import { worlds } from '#api/domain/worlds/table.ts'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { markDirty } from '#api/platform/outbox/outbox.ts'
import { isId } from '#shared/ids.ts'
import { KubeError } from '#shared/kube/errors.ts'
import type { ObjectMeta } from '#shared/kube/objects.ts'
import { isOlder } from '#shared/kube/versions.ts'
import { idLabelOf, type Kind, kindList } from '#shared/resources/group.ts'

export type { Kind } from '#shared/resources/group.ts'

/** The table of each kind. */
export const tables = { world: worlds, bot: botDeployments } as const satisfies Record<Kind, unknown>

/** The columns that both kinds share: the last spec that both sides agreed on, and the uid and version of the resource. */
export type SyncedRow = {
  readonly id: string
  readonly organizationId: string
  readonly projectId: string
  readonly cluster: string
  /** The cluster that the row moves to, or null. */
  readonly targetCluster: string | null
  readonly resourceName: string
  readonly revision: number
  readonly statusMessage: string
  readonly pushRefusal: string | null
  readonly applied: { readonly revision?: number } | null
  readonly appliedResourceVersion: string | null
  readonly resourceUid: string | null
  readonly deletingAt: Date | null
}

/**
 * Reports whether the row was adopted and no push has reached its resource yet. The resource has no finalizer, so its deletion
 * leaves no trace.
 */
export const isUnclaimed = ({ applied, resourceUid }: Pick<SyncedRow, 'applied' | 'resourceUid'>): boolean =>
  resourceUid !== null && applied !== null && applied.revision === undefined

/** Reports whether the resource of that name belongs to another row, as after kubectl deleted and recreated it. */
export const isReplaced = (
  { id, resourceName, resourceUid }: SyncedRow,
  { uid, labels: marks = {} }: ObjectMeta,
): boolean => {
  if (resourceName === id) return false
  if (resourceUid !== null) return resourceUid !== uid
  return kindList.every((kind) => marks[idLabelOf(kind)] !== id)
}

/** Returns the row, locked until the end of the transaction, or undefined if it does not exist. */
export const lockSynced = async (tx: Transaction, kind: Kind, id: string): Promise<SyncedRow | undefined> => {
  const table = tables[kind]
  const [row] = await tx
    .select({
      id: table.id,
      organizationId: table.organizationId,
      projectId: table.projectId,
      cluster: table.cluster,
      targetCluster: table.targetCluster,
      resourceName: table.resourceName,
      revision: table.revision,
      statusMessage: table.statusMessage,
      pushRefusal: table.pushRefusal,
      applied: table.applied,
      appliedResourceVersion: table.appliedResourceVersion,
      resourceUid: table.resourceUid,
      deletingAt: table.deletingAt,
    })
    .from(table)
    .where(eq(table.id, id))
    .for('update')
  return row
}

/**
 * Returns the id of the row that a resource of a cluster may belong to, or undefined if there is none. A name that is an id is
 * that id. Otherwise it is the row of the organization and cluster with that name; a deleted row only if it has the uid of the
 * resource on record.
 */
export const findRowId = async (
  tx: Transaction,
  kind: Kind,
  {
    organizationId,
    cluster,
    name,
    uid,
  }: { organizationId: string | undefined; cluster: string; name: string; uid?: string | undefined },
): Promise<string | undefined> => {
  if (isId(kind, name)) return name
  const table = tables[kind]
  const [row] = await tx
    .select({ id: table.id })
    .from(table)
    .where(
      and(
        eq(table.organizationId, organizationId ?? ''),
        eq(table.cluster, cluster),
        eq(table.resourceName, name),
        or(isNull(table.deletingAt), uid === undefined ? isNotNull(table.resourceUid) : eq(table.resourceUid, uid)),
      ),
    )
    .orderBy(sql`${table.deletingAt} is null desc`)
    .limit(1)
  return row?.id
}

/** The state of an organization. Another API may own the namespace of an unknown one, or the database was restored. */
export type OrganizationState = 'living' | 'deleted' | 'unknown'

/** Returns the state of an organization. Without an id it is unknown. */
export const readOwner = async (db: Database | Transaction, id: string | undefined): Promise<OrganizationState> => {
  if (id === undefined) return 'unknown'
  const [row] = await db
    .select({ deletingAt: organizations.deletingAt })
    .from(organizations)
    .where(eq(organizations.id, id))
  if (row === undefined) return 'unknown'
  return row.deletingAt === null ? 'living' : 'deleted'
}

type Seen = { uid?: string | undefined; resourceVersion?: string | undefined }

/** Reports whether the row has recorded a later version of the same resource. */
export const isOutdated = (
  row: Pick<SyncedRow, 'resourceUid' | 'appliedResourceVersion'>,
  { uid, resourceVersion }: Seen,
): boolean =>
  row.resourceUid === uid &&
  row.appliedResourceVersion !== null &&
  resourceVersion !== undefined &&
  isOlder(resourceVersion, row.appliedResourceVersion)

/** Returns the columns for uid and resourceVersion, with the later of both versions. */
export const newestVersion = (row: SyncedRow, seen: Seen) => ({
  resourceUid: seen.uid ?? null,
  appliedResourceVersion: isOutdated(row, seen) ? row.appliedResourceVersion : (seen.resourceVersion ?? null),
})

/** The prefix of a status message that the API wrote. The first successful push clears the message. */
const waitingPrefix = 'Waiting for the cluster: '

/** Returns the status message of a row whose resource waits for the cluster, shortened to 1,024 characters. */
const waitingMessage = (reason: string): string => `${waitingPrefix}${reason}`.slice(0, 1024)

/** Returns the status message of a row whose resource is deleted with its namespace or definition. */
export const lostMessage = (reason: string): string =>
  waitingMessage(`${reason}, and the resource with it. The API recreates the resource when that is possible.`)

/** Sets the status message of rows to the reason why they wait for the cluster. Writes only if the message changes. */
export const setWaitingMessage = async (
  db: Database,
  kind: Kind,
  ids: readonly string[],
  why: string,
): Promise<void> => {
  const message = waitingMessage(why)
  await db.execute(sql`
    update ${tables[kind]} set status_message = ${message}
    where id = any(${sql.param([...ids])}::text[]) and status_message <> ${message}`)
}

/** Records why the cluster refuses what a row writes. Writes only if the reason changes. */
export const setPushRefusal = async (db: Database, kind: Kind, id: string, why: string): Promise<void> => {
  await db.execute(sql`
    update ${tables[kind]} set push_refusal = ${why} where id = ${id} and push_refusal is distinct from ${why}`)
}

/**
 * Reports whether a write failed because the quota of its namespace has no usage yet. The controller-manager counts a new kind
 * of resource up to 30 s after its definition.
 */
export const isQuotaUncounted = (error: unknown): boolean =>
  error instanceof KubeError && error.status === 403 && error.message.includes('status unknown for quota')

/** Clears the message of `setWaitingMessage`. */
export const clearWaitingMessage = async (db: Database, kind: Kind, row: SyncedRow): Promise<void> => {
  if (!row.statusMessage.startsWith(waitingPrefix)) return
  await db.execute(sql`
    update ${tables[kind]} set status_message = '' where id = ${row.id} and status_message like ${`${waitingPrefix}%`}`)
}

/** The part of a row that a sweep compares with the cluster. */
export type AppliedRow = Pick<
  SyncedRow,
  'id' | 'organizationId' | 'resourceName' | 'resourceUid' | 'appliedResourceVersion'
>

/** Returns the rows of a cluster that have a resource on record and are neither being deleted nor moving away. */
export const appliedRows = (db: Database, kind: Kind, cluster: string): Promise<AppliedRow[]> => {
  const table = tables[kind]
  return db
    .select({
      id: table.id,
      organizationId: table.organizationId,
      resourceName: table.resourceName,
      resourceUid: table.resourceUid,
      appliedResourceVersion: table.appliedResourceVersion,
    })
    .from(table)
    .where(
      and(
        eq(table.cluster, cluster),
        isNotNull(table.resourceUid),
        isNull(table.deletingAt),
        isNull(table.targetCluster),
      ),
    )
}

/**
 * Clears the recorded resource of a row, so that the next push recreates it. Without the grant of its last run, a world that sleeps
 * goes on to sleep: the new resource has no status that says that the run ended.
 */
export const forgetResource = async (tx: Transaction, kind: Kind, id: string): Promise<void> => {
  await tx.execute(sql`
    update ${tables[kind]} set applied = null, applied_resource_version = null, resource_uid = null where id = ${id}`)
  if (kind !== 'world') return
  await tx.execute(sql`
    update worlds set granted = null
    where id = ${id} and state = 'Running' and phase = 'Stopped' and idle ->> 'asleepSince' is not null`)
}

/**
 * Removes a row whose resource no longer exists: keeps it as removed until its `purgeAt`, or deletes it. Returns false if
 * resources of bots of the world still exist. Also ends the runs of a kept world, and deletes a project that waits for its
 * last world.
 */
export const removeRow = (db: Database, kind: Kind, { id }: SyncedRow): Promise<boolean> =>
  db.transaction(async (tx) => {
    const kept = await tx.execute(sql`
      update ${tables[kind]} set removed_at = now(), applied = null, applied_resource_version = null, resource_uid = null
      where id = ${id} and purge_at > now()
        and not exists (select from bot_deployments where world_id = ${id} and removed_at is null)`)
    if (kept.rowCount === 1) {
      if (kind === 'world') await endAll(tx, id)
      return true
    }
    if (kind === 'world')
      await tx.execute(sql`delete from bot_deployments where world_id = ${id} and removed_at is not null
      and exists (select from worlds where id = ${id} and purge_at <= now())`)
    const { rows } = await tx.execute<{ project_id: string }>(
      sql`delete from ${tables[kind]} where id = ${id} and (purge_at is null or purge_at <= now())
        and not exists (select from bot_deployments where world_id = ${id}) returning project_id`,
    )
    const [gone] = rows
    if (gone === undefined) return (await lockSynced(tx, kind, id)) === undefined
    await removeProjectIfEmpty(tx, gone.project_id)
    return true
  })

/** Marks a row dirty at its current revision. */
export const markRow = (tx: Transaction, kind: Kind, row: SyncedRow): Promise<void> =>
  markDirty(tx, { kind, id: row.id, revision: row.revision })
