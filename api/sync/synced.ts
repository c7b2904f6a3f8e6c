import { and, eq, like, type SQL, sql } from 'drizzle-orm'
import { botDeployments } from '#api/domain/bots/table.ts'
import { removeProjectIfEmpty } from '#api/domain/deletion/service.ts'
import { worlds } from '#api/domain/worlds/table.ts'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { type Mark, markDirty } from '#api/platform/outbox/outbox.ts'
import type { KubeError } from '#shared/kube/errors.ts'
import type { ObjectMeta } from '#shared/kube/objects.ts'
import { isOlder } from '#shared/kube/versions.ts'

/** A kind of row that has a resource in the cluster. */
export type Kind = Mark['kind']
const tables = { world: worlds, bot: botDeployments } as const

/** The columns that both kinds share: the last spec that both sides agreed on, and the uid and version of the resource. */
export type SyncedRow = {
  readonly id: string
  readonly organizationId: string
  readonly revision: number
  readonly statusMessage: string
  readonly applied: { readonly revision?: number } | null
  readonly appliedResourceVersion: string | null
  readonly resourceUid: string | null
  readonly deletingAt: Date | null
}

/** Returns the row, locked until the end of the transaction, or undefined if it does not exist. */
export const lockSynced = async (tx: Transaction, kind: Kind, id: string): Promise<SyncedRow | undefined> => {
  const table = tables[kind]
  const [row] = await tx
    .select({
      id: table.id,
      organizationId: table.organizationId,
      revision: table.revision,
      statusMessage: table.statusMessage,
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

type Seen = { uid?: string | undefined; resourceVersion?: string | undefined }

/** Reports whether the row has recorded a later version of the same resource. */
export const isOutdated = (row: SyncedRow, { uid, resourceVersion }: Seen): boolean =>
  row.resourceUid === uid &&
  row.appliedResourceVersion !== null &&
  resourceVersion !== undefined &&
  isOlder(resourceVersion, row.appliedResourceVersion)

/** Returns the columns for uid and resourceVersion, with the later of both versions. */
export const newestVersion = (row: SyncedRow, seen: Seen) => ({
  resourceUid: seen.uid ?? null,
  appliedResourceVersion: isOutdated(row, seen) ? row.appliedResourceVersion : (seen.resourceVersion ?? null),
})

/**
 * Records an applied spec, unless a newer one is recorded. The recorded version never decreases: pull may have seen a later
 * one than the response of the apply, and a push with the earlier version would conflict forever.
 */
export const recordApplied = (
  db: Database,
  kind: Kind,
  row: SyncedRow,
  { spec, metadata }: { spec: { readonly revision?: number }; metadata: ObjectMeta },
): Promise<void> =>
  db.transaction(async (tx) => {
    const now = await lockSynced(tx, kind, row.id)
    if (now === undefined || (now.applied?.revision ?? 0) > row.revision) return
    const { resourceUid, appliedResourceVersion } = newestVersion(now, metadata)
    // At the same revision, pull has already adopted an edit of this apply.
    const common = now.applied?.revision === row.revision ? now.applied : spec
    await tx.execute(sql`
      update ${tables[kind]} set applied = ${JSON.stringify(common)}::jsonb, resource_uid = ${resourceUid},
        applied_resource_version = ${appliedResourceVersion} where id = ${row.id}`)
  })

/** The prefix of a status message that push wrote. The first successful push clears the message. */
const waitingPrefix = 'Waiting for the cluster: '

/** Sets the status message of a row to the reason why the cluster refuses it. Writes only if the message changes. */
export const setWaitingMessage = async (db: Database, kind: Kind, id: string, error: KubeError): Promise<void> => {
  const why = error.status === 0 || error.status >= 500 ? 'the API server does not respond.' : error.message
  const statusMessage = `${waitingPrefix}${why}`.slice(0, 1024)
  await setMessage(
    db,
    kind,
    statusMessage,
    and(eq(tables[kind].id, id), sql`${tables[kind].statusMessage} <> ${statusMessage}`),
  )
}

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

/** Returns the rows of a cluster that have a resource on record. */
export const appliedRows = (
  db: Database,
  kind: Kind,
  cluster: string,
): Promise<Pick<SyncedRow, 'id' | 'organizationId'>[]> => {
  const table = tables[kind]
  return db
    .select({ id: table.id, organizationId: table.organizationId })
    .from(table)
    .where(and(eq(table.cluster, cluster), sql`${table.resourceUid} is not null`))
}

/** Clears the recorded resource of a row, so that the next push creates it again. */
export const forgetResource = async (tx: Transaction, kind: Kind, id: string): Promise<void> => {
  await tx.execute(sql`
    update ${tables[kind]} set applied = null, applied_resource_version = null, resource_uid = null where id = ${id}`)
}

/**
 * Deletes a row whose resource no longer exists. Returns false if bots of the world still exist. Also deletes a project that
 * waits for its last world.
 */
export const removeRow = (db: Database, kind: Kind, { id }: SyncedRow): Promise<boolean> =>
  db.transaction(async (tx) => {
    const canDelete = kind === 'bot' ? sql`true` : sql`not exists (select from bot_deployments where world_id = ${id})`
    const { rows } = await tx.execute<{ project_id: string }>(
      sql`delete from ${tables[kind]} where id = ${id} and ${canDelete} returning project_id`,
    )
    const [gone] = rows
    if (gone === undefined) return (await lockSynced(tx, kind, id)) === undefined
    await removeProjectIfEmpty(tx, gone.project_id)
    return true
  })

/** Marks a row dirty at its current revision. */
export const markRow = (tx: Transaction, kind: Kind, row: SyncedRow, nowMs: number): Promise<void> =>
  markDirty(tx, { kind, id: row.id, revision: row.revision }, nowMs)
