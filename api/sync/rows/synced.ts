import { isDeepStrictEqual } from 'node:util'
import { and, eq, inArray, isNotNull, isNull, like, or, type SQL, sql } from 'drizzle-orm'
import { botDeployments } from '#api/domain/bots/table.ts'
import { removeProjectIfEmpty } from '#api/domain/deletion/service.ts'
import { endAll } from '#api/domain/worlds/runs/service.ts'
import { worlds } from '#api/domain/worlds/table.ts'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { type Mark, markDirty } from '#api/platform/outbox/outbox.ts'
import { isId } from '#shared/ids.ts'
import { KubeError } from '#shared/kube/errors.ts'
import type { ObjectMeta } from '#shared/kube/objects.ts'
import { isOlder } from '#shared/kube/versions.ts'
import { labels } from '#shared/resources/group.ts'
import { waitingMessage, waitingPrefix } from './waiting.ts'

/** A kind of row that has a resource in the cluster. */
export type Kind = Exclude<Mark['kind'], 'organization'>
const tables = { world: worlds, bot: botDeployments } as const

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

/** Reports whether the resource of that name belongs to another row. A resource that kubectl created can be replaced so. */
export const isReplaced = (
  { id, resourceName, resourceUid }: SyncedRow,
  { uid, labels: marks = {} }: ObjectMeta,
): boolean => {
  if (resourceName === id) return false
  if (resourceUid !== null) return resourceUid !== uid
  return marks[labels.worldId] !== id && marks[labels.botDeploymentId] !== id
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

/** Reports whether columns have other values than the row. */
export const hasChanges = <Row extends object>(row: Row, columns: Partial<Row>): boolean =>
  Object.keys(columns).some((name) => !isDeepStrictEqual(row[name as keyof Row], columns[name as keyof Row]))

/** The result of an apply: the row as it was pushed, and the applied resource. */
export type Applied = {
  readonly kind: Kind
  readonly row: Pick<SyncedRow, 'id' | 'cluster' | 'revision'>
  readonly spec: object
  readonly metadata: Pick<ObjectMeta, 'uid' | 'resourceVersion'>
}

/**
 * Returns the update that records an applied spec, unless a newer one is recorded. The recorded version never decreases: pull
 * may have seen a later one than the response of the apply, and a push with the earlier version would conflict forever.
 */
export const updateApplied = ({ kind, row, spec, metadata }: Applied): SQL => {
  const { uid = null, resourceVersion = null } = metadata
  const { set, where } = recordApplied({
    spec: sql`${JSON.stringify(spec)}::jsonb`,
    uid: sql`${uid}::text`,
    resourceVersion: sql`${resourceVersion}::text`,
    revision: sql`${row.revision}::bigint`,
    cluster: sql`${row.cluster}::text`,
  })
  return sql`update ${tables[kind]} set ${set} where id = ${row.id} and ${where}`
}

/**
 * Returns the update of `updateApplied` for many rows of a kind at once. `input` is a relation of `AppliedInput`, and `locked`
 * a relation with the ids of the rows to update.
 */
export const updateAllApplied = (kind: Kind, { input, locked }: { input: SQL; locked: SQL }): SQL => {
  const { set, where } = recordApplied({
    spec: sql`pushed_spec`,
    uid: sql`pushed_uid`,
    resourceVersion: sql`pushed_version`,
    revision: sql`pushed_revision`,
    cluster: sql`pushed_cluster`,
  })
  const table = tables[kind]
  return sql`update ${table} set ${set} from ${input}
    where ${table.id} = pushed_id and pushed_kind = ${kind} and pushed_id in (select id from ${locked}) and ${where}`
}

/** Returns the statement that locks rows for `updateAllApplied` and selects their ids, without those that others have locked. */
export const lockApplied = (kind: Kind, ids: SQL): SQL =>
  sql`select id from ${tables[kind]} where id in ${ids} for no key update skip locked`

/** A row of the input of `updateAllApplied`. */
type AppliedInput = {
  readonly pushed_kind: Kind
  readonly pushed_id: string
  readonly pushed_spec: object
  readonly pushed_uid: string | null
  readonly pushed_version: string | null
  readonly pushed_revision: number
  readonly pushed_cluster: string
}

/** The columns of `AppliedInput`, with their types. */
export const appliedInputColumns = sql.raw(
  'pushed_kind text, pushed_id text, pushed_spec jsonb, pushed_uid text, pushed_version text, pushed_revision bigint, pushed_cluster text',
)

/** Returns the input of `updateAllApplied` for one row. */
export const toAppliedInput = ({ kind, row, spec, metadata }: Applied): AppliedInput => ({
  pushed_kind: kind,
  pushed_id: row.id,
  pushed_spec: spec,
  pushed_uid: metadata.uid ?? null,
  pushed_version: metadata.resourceVersion ?? null,
  pushed_revision: row.revision,
  pushed_cluster: row.cluster,
})

type AppliedValues = Readonly<Record<'spec' | 'uid' | 'resourceVersion' | 'revision' | 'cluster', SQL>>

const recordApplied = ({ spec, uid, resourceVersion, revision, cluster }: AppliedValues) => {
  const hasLater = sql`(resource_uid = ${uid} and ${isOlderVersion(resourceVersion, sql`applied_resource_version`)})`
  const appliedRevision = sql`coalesce((applied->>'revision')::bigint, 0)`
  return {
    // If pull has seen a later version with this revision, it has already acknowledged an edit of this apply.
    set: sql`
      applied = case when ${hasLater} and ${appliedRevision} = ${revision} then applied else ${spec} end,
      resource_uid = ${uid},
      applied_resource_version = case when ${hasLater} then applied_resource_version else ${resourceVersion} end,
      push_refusal = null`,
    // A push that outlasted its lease may end after the row has moved to another cluster.
    where: sql`cluster = ${cluster} and ${appliedRevision} <= ${revision}`,
  }
}

/** Compares versions as `isOlder` does. The result is false if one is null. */
const isOlderVersion = (version: SQL, than: SQL): SQL => {
  const isNumber = (each: SQL): SQL => sql`${each} ~ '^\\d{1,30}$'`
  return sql`coalesce(case when ${isNumber(version)} and ${isNumber(than)}
    then ${version}::numeric < ${than}::numeric end, false)`
}

/** Sets the status message of a row to the reason why the cluster refuses it. Writes only if the message changes. */
export const setWaitingMessage = async (db: Database, kind: Kind, id: string, why: string): Promise<void> => {
  const statusMessage = waitingMessage(why)
  await setMessage(
    db,
    kind,
    statusMessage,
    and(eq(tables[kind].id, id), sql`${tables[kind].statusMessage} <> ${statusMessage}`),
  )
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

/** Says in the rows that their resources are missing and wait for acceptance. */
export const setHeldMessage = (db: Database, kind: Kind, ids: readonly string[]): Promise<void> =>
  setMessage(
    db,
    kind,
    waitingMessage(
      'this resource and many others are missing from the cluster. The platform operator must confirm that they are ' +
        'recreated.',
    ),
    inArray(tables[kind].id, [...ids]),
  )

/** Clears the message of `setWaitingMessage`. */
export const clearWaitingMessage = async (db: Database, kind: Kind, row: SyncedRow): Promise<void> => {
  if (!row.statusMessage.startsWith(waitingPrefix)) return
  await setMessage(
    db,
    kind,
    '',
    and(eq(tables[kind].id, row.id), like(tables[kind].statusMessage, `${waitingPrefix}%`)),
  )
}

const setMessage = async (db: Database, kind: Kind, message: string, where: SQL | undefined): Promise<void> => {
  await db.execute(sql`
    update ${tables[kind]} set status_message = ${message}, status_version = status_version + 1 where ${where}`)
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

/** Clears the recorded resource of a row, so that the next push recreates it. */
export const forgetResource = async (tx: Transaction, kind: Kind, id: string): Promise<void> => {
  await tx.execute(sql`
    update ${tables[kind]} set applied = null, applied_resource_version = null, resource_uid = null where id = ${id}`)
}

/**
 * Removes a row whose resource no longer exists: keeps it as removed until its `purgeAt`, or deletes it. Returns false if
 * resources of bots of the world still exist. Also ends the runs of a kept world, and deletes a project that waits for its
 * last world.
 */
export const removeRow = (db: Database, kind: Kind, { id }: SyncedRow): Promise<boolean> =>
  db.transaction(async (tx) => {
    const left = sql`select from bot_deployments where world_id = ${id} and removed_at is null`
    const isFree = kind === 'bot' ? sql`true` : sql`not exists (${left})`
    const kept = await tx.execute(sql`
      update ${tables[kind]} set removed_at = now(), applied = null, applied_resource_version = null, resource_uid = null
      where id = ${id} and purge_at > now() and ${isFree}`)
    if (kept.rowCount === 1) {
      if (kind === 'world') await endAll(tx, id)
      return true
    }
    if (kind === 'world')
      await tx.execute(sql`delete from bot_deployments where world_id = ${id} and removed_at is not null
      and exists (select from worlds where id = ${id} and purge_at <= now())`)
    const canDelete = kind === 'bot' ? sql`true` : sql`not exists (select from bot_deployments where world_id = ${id})`
    const { rows } = await tx.execute<{ project_id: string }>(
      sql`delete from ${tables[kind]} where id = ${id} and (purge_at is null or purge_at <= now()) and ${canDelete} returning project_id`,
    )
    const [gone] = rows
    if (gone === undefined) return (await lockSynced(tx, kind, id)) === undefined
    await removeProjectIfEmpty(tx, gone.project_id)
    return true
  })

/** Marks a row dirty at its current revision. */
export const markRow = (tx: Transaction, kind: Kind, row: SyncedRow): Promise<void> =>
  markDirty(tx, { kind, id: row.id, revision: row.revision })
