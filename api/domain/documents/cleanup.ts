import { and, eq, lt, type SQL, sql } from 'drizzle-orm'
import type { Deps } from '#api/domain/access/context.ts'
import { type DocumentRow, documents } from '#api/domain/documents/table.ts'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { createFairQueue } from '#shared/fairQueue.ts'

/** The number of documents per transaction. A thousand take about ten milliseconds. */
const batchSize = 1_000
const maxBatches = 500

/** The time for which the rows of a deleted scope's documents stay, so that a replica that was disconnected can read them. */
const retentionMs = 3_600_000
/** The time for which the row of a document that was deleted alone stays. A later document has a later version by then. */
const longRetentionMs = 24 * retentionMs

/** A deleted project or world. An empty world id means the project with all its worlds. */
type DeletedScope = { readonly organizationId: string; readonly projectId: string; readonly worldId: string }

/** Returns the key of the advisory lock for the documents of a project or world. */
const keyOf = ({ organizationId, projectId, worldId }: DeletedScope): SQL =>
  sql`hashtextextended(${JSON.stringify([organizationId, projectId, worldId])}, 0)`

/**
 * Serializes the writes of a document, and blocks the deletion of its project and world, until the transaction ends. A row lock is
 * not enough, since a new document has no row yet. The query is sent at once, so later ones of the same round trip see what the
 * holders of the locks have committed.
 */
export const lockDocument = (
  tx: Transaction,
  { type, id, ...scope }: DeletedScope & Pick<DocumentRow, 'type' | 'id'>,
): Promise<unknown> => {
  const { organizationId, projectId, worldId } = scope
  const key = JSON.stringify([organizationId, projectId, worldId, type, id])
  // Postgres takes the locks in this order.
  return tx
    .execute(sql`
      select pg_advisory_xact_lock(hashtextextended(${key}, 0)),
        pg_advisory_xact_lock_shared(${keyOf({ ...scope, worldId: '' })}),
        pg_advisory_xact_lock_shared(${keyOf(scope)})`)
    .execute()
}

/**
 * Deletes the documents of a project or world in the transaction that deletes the scope, so that subscribers are notified
 * at once. Blocks concurrent writes. Deletes at most 1,000 documents; `eraseDeletedDocuments` deletes the rest.
 */
export const deleteDocumentsOfScope = async (tx: Transaction, scope: DeletedScope, now: Date): Promise<void> => {
  await tx.execute(sql`select pg_advisory_xact_lock(${keyOf(scope)})`)
  await deleteBatch(tx, scope, now)
}

/**
 * Deletes the remaining documents of deleted projects and worlds, organizations in turn, and removes their rows after an hour and
 * those of other deleted documents after a day. Several replicas may run it concurrently.
 */
export const eraseDeletedDocuments = async (
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  signal: AbortSignal,
): Promise<void> => {
  const queue = createFairQueue<DeletedScope>('deleted documents', ({ organizationId }) => organizationId)
  for (const scope of await deletedScopes(db)) queue.add(scope)
  for (let turns = queue.size + maxBatches; turns > 0 && !signal.aborted; turns -= 1) {
    const [scope] = queue.take(1)
    if (scope === undefined) break
    const now = new Date(clock.now())
    const erased = await db.transaction((tx) => eraseBatch(tx, scope, now))
    const removed = await removeBatch(db, whereScope(scope), new Date(now.getTime() - retentionMs))
    if (Math.max(erased, removed) >= batchSize) queue.add(scope)
  }
  const before = new Date(clock.now() - longRetentionMs)
  await repeat(signal, () => removeBatch(db, undefined, before))
}

/** Deletes one batch, unless the scope was restored since it was read. */
const eraseBatch = async (tx: Transaction, scope: DeletedScope, now: Date): Promise<number> => {
  await tx.execute(sql`select pg_advisory_xact_lock(${keyOf(scope)})`)
  const { rows } = await tx.execute(sql`select from (select ${scope.organizationId} as organization_id,
    ${scope.projectId} as project_id, ${scope.worldId} as world_id) s where ${isDeleted}`)
  return rows.length === 0 ? 0 : deleteBatch(tx, scope, now)
}

/** The condition that the project or world of the scope `s` is deleted. */
const isDeleted = sql`((s.project_id <> '' and not exists (select from projects p
    where p.organization_id = s.organization_id and p.id = s.project_id and p.deleting_at is null))
  or (s.world_id <> '' and not exists (select from worlds w where w.organization_id = s.organization_id
    and w.project_id = s.project_id and w.id = s.world_id and w.deleting_at is null)))`

/** Repeats a batch until one is not full, the maximum is reached or the signal is aborted. */
const repeat = async (signal: AbortSignal, batch: () => Promise<number>): Promise<void> => {
  for (let done = 0; done < maxBatches && !signal.aborted; done += 1) if ((await batch()) < batchSize) return
}

/**
 * Deletes one batch of documents in the same way as a single deletion: empty data and a later version. Keeps a copy while
 * the project or world can be restored.
 */
const deleteBatch = async (tx: Transaction, scope: DeletedScope, now: Date): Promise<number> => {
  const { rowCount } = await tx.execute(sql`
    with gone as (
      select organization_id, project_id, world_id, type, id, user_id, data from documents
      where ${whereScope(scope)} and deleted_at is null limit ${batchSize} for update
    ), kept as (
      insert into kept_documents select * from gone
      where exists (select from projects p where p.id = gone.project_id and p.purge_at > now())
        or exists (select from worlds w where w.id = gone.world_id and w.purge_at > now())
      on conflict (organization_id, project_id, world_id, type, id)
        do update set user_id = excluded.user_id, data = excluded.data
    )
    update documents d set user_id = '', data = '{}'::jsonb, deleted_at = ${now.toISOString()}::timestamptz,
      version = greatest(${now.toISOString()}::timestamptz, d.version + interval '1 millisecond')
    from gone where (d.organization_id, d.project_id, d.world_id, d.type, d.id)
      = (gone.organization_id, gone.project_id, gone.world_id, gone.type, gone.id)`)
  return rowCount ?? 0
}

/**
 * Restores the kept documents of a project and of some of its worlds. Waits for an erasure in the same scope. `countBytes` gets
 * their size before anything is written, and may throw.
 */
export const restoreDocuments = async (
  tx: Transaction,
  { organizationId, projectId }: { organizationId: string; projectId: string },
  worldIds: readonly string[],
  countBytes: (bytes: number) => void,
): Promise<void> => {
  for (const worldId of worldIds) {
    await tx.execute(sql`select pg_advisory_xact_lock(${keyOf({ organizationId, projectId, worldId })})`)
  }
  const isRestored = sql`organization_id = ${organizationId} and project_id = ${projectId}
    and world_id = any(${sql.param([...worldIds])}::text[])`
  const { rows } = await tx.execute<{ bytes: number }>(
    sql`select coalesce(sum(pg_column_size(data)), 0)::float8 as bytes from kept_documents where ${isRestored}`,
  )
  countBytes(rows[0]?.bytes ?? 0)
  await tx.execute(sql`
    with kept as (delete from kept_documents where ${isRestored} returning *)
    insert into documents (organization_id, project_id, world_id, type, id, user_id, data, version)
    select organization_id, project_id, world_id, type, id, user_id, data, date_trunc('milliseconds', now()) from kept
    on conflict (organization_id, project_id, world_id, type, id) do update set user_id = excluded.user_id,
      data = excluded.data, deleted_at = null,
      version = greatest(excluded.version, documents.version + interval '1 millisecond')`)
}

const removeBatch = async (db: Database, scope: SQL | undefined, before: Date): Promise<number> => {
  const where = and(scope, lt(documents.deletedAt, before))
  const { rowCount } = await db.execute(sql`
    delete from documents where ctid = any(array(select ctid from documents
      where ${where} limit ${batchSize} for update skip locked))`)
  return rowCount ?? 0
}

const whereScope = ({ organizationId, projectId, worldId }: DeletedScope): SQL | undefined =>
  and(
    eq(documents.organizationId, organizationId),
    eq(documents.projectId, projectId),
    worldId === '' ? undefined : eq(documents.worldId, worldId),
  )

/** Returns the scopes with documents whose project or world is deleted. Reads one index row per scope. */
const deletedScopes = async (db: Database): Promise<DeletedScope[]> => {
  const { rows } = await db.execute<DeletedScope>(sql`
    with recursive scopes as (
      (select organization_id, project_id, world_id from documents order by 1, 2, 3 limit 1)
      union all
      select n.* from scopes s cross join lateral (
        select organization_id, project_id, world_id from documents d
        where (d.organization_id, d.project_id, d.world_id) > (s.organization_id, s.project_id, s.world_id)
        order by 1, 2, 3 limit 1) n)
    select organization_id as "organizationId", project_id as "projectId", world_id as "worldId" from scopes s
    where ${isDeleted}`)
  return rows
}
