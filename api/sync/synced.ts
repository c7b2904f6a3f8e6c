import { and, eq, like, type SQL, sql } from 'drizzle-orm'
import { botDeployments } from '#api/domain/bots/table.ts'
import { removeProjectIfEmpty } from '#api/domain/deletion/service.ts'
import { worlds } from '#api/domain/worlds/table.ts'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { type Mark, markDirty } from '#api/platform/outbox/outbox.ts'
import type { KubeError } from '#shared/kube/errors.ts'
import type { ObjectMeta } from '#shared/kube/objects.ts'
import { isOlder } from '#shared/kube/versions.ts'

/** What has a row here and a resource in the cluster. */
export type Kind = Mark['kind']
const tables = { world: worlds, bot: botDeployments } as const

/** What both kinds know of their resource: what both sides last agreed on, of which resource, at which of its versions. */
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

/** The row, locked until the transaction ends; undefined where it is gone. */
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

/** Whether the row has already seen a later version of the same resource. */
export const isOutdated = (row: SyncedRow, { uid, resourceVersion }: Seen): boolean =>
  row.resourceUid === uid &&
  row.appliedResourceVersion !== null &&
  resourceVersion !== undefined &&
  isOlder(resourceVersion, row.appliedResourceVersion)

/** The columns that name the resource, with the later of the two versions. */
export const newestVersion = (row: SyncedRow, seen: Seen) => ({
  resourceUid: seen.uid ?? null,
  appliedResourceVersion: isOutdated(row, seen) ? row.appliedResourceVersion : (seen.resourceVersion ?? null),
})

/**
 * Remembers what was applied, unless something newer was remembered meanwhile. The version never goes back: pull may
 * have seen a later one than the answer of the apply, and a push that sent the earlier one would conflict for ever.
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
    // At the same revision pull has already adopted an edit of what this push wrote.
    const common = now.applied?.revision === row.revision ? now.applied : spec
    await tx.execute(sql`
      update ${tables[kind]} set applied = ${JSON.stringify(common)}::jsonb, resource_uid = ${resourceUid},
        applied_resource_version = ${appliedResourceVersion} where id = ${row.id}`)
  })

/** How a status message starts that push wrote; it goes with the first push that succeeds. */
const waitingPrefix = 'waiting for the cluster: '

/** Tells the readers of a row that its cluster does not take it, and why; writes only what is not there already. */
export const sayWaiting = async (db: Database, kind: Kind, id: string, error: KubeError): Promise<void> => {
  const why = error.status === 0 || error.status >= 500 ? 'its API server does not answer' : error.message
  const statusMessage = `${waitingPrefix}${why}`.slice(0, 1024)
  await say(
    db,
    kind,
    statusMessage,
    and(eq(tables[kind].id, id), sql`${tables[kind].statusMessage} <> ${statusMessage}`),
  )
}

/** Takes back what `sayWaiting` said. */
export const clearWaiting = async (db: Database, kind: Kind, row: SyncedRow): Promise<void> => {
  if (!row.statusMessage.startsWith(waitingPrefix)) return
  await say(db, kind, '', and(eq(tables[kind].id, row.id), like(tables[kind].statusMessage, `${waitingPrefix}%`)))
}

const say = async (db: Database, kind: Kind, message: string, where: SQL | undefined): Promise<void> => {
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

/** Forgets the resource of a row, so that the next push makes it anew. */
export const forgetResource = async (tx: Transaction, kind: Kind, id: string): Promise<void> => {
  await tx.execute(sql`
    update ${tables[kind]} set applied = null, applied_resource_version = null, resource_uid = null where id = ${id}`)
}

/**
 * Lets a row go whose resource is gone; false where it has to wait for the bots of its world. A project that waits for
 * the last of its worlds goes with it.
 */
export const removeRow = (db: Database, kind: Kind, { id }: SyncedRow): Promise<boolean> =>
  db.transaction(async (tx) => {
    const free = kind === 'bot' ? sql`true` : sql`not exists (select from bot_deployments where world_id = ${id})`
    const { rows } = await tx.execute<{ project_id: string }>(
      sql`delete from ${tables[kind]} where id = ${id} and ${free} returning project_id`,
    )
    const [gone] = rows
    if (gone === undefined) return (await lockSynced(tx, kind, id)) === undefined
    await removeProjectIfEmpty(tx, gone.project_id)
    return true
  })

/** Marks a row dirty as it is. */
export const markRow = (tx: Transaction, kind: Kind, row: SyncedRow, nowMs: number): Promise<void> =>
  markDirty(tx, { kind, id: row.id, revision: row.revision }, nowMs)
