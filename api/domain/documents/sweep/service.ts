import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { Deps } from '#api/domain/access/context.ts'
import { documents } from '#api/domain/documents/table.ts'
import type { Database, Transaction } from '#api/platform/database/client.ts'

/** The number of documents per transaction. A thousand take about ten milliseconds. */
const batchSize = 1_000
const maxBatches = 500

/** The time for which the rows of deleted documents stay, so that a replica that was disconnected can read them. */
const retentionMs = 3_600_000

/** A deleted project or world. An empty world id means the project with all its worlds. */
type DeletedScope = { readonly organizationId: string; readonly projectId: string; readonly worldId: string }

/** Returns the key of the advisory lock for the documents of a project or world. */
const keyOf = ({ organizationId, projectId, worldId }: DeletedScope): SQL =>
  sql`hashtextextended(${JSON.stringify([organizationId, projectId, worldId])}, 0)`

/** Blocks the deletion of a document's project and world until the transaction ends. */
export const lockScopeShared = async (tx: Transaction, scope: DeletedScope): Promise<void> => {
  await tx.execute(sql`
    select pg_advisory_xact_lock_shared(${keyOf({ ...scope, worldId: '' })}), pg_advisory_xact_lock_shared(${keyOf(scope)})`)
}

/**
 * Deletes the documents of a project or world in the transaction that deletes the scope, so that subscribers are notified
 * at once. Blocks concurrent writes. Deletes at most 1,000 documents; `sweepDocuments` deletes the rest.
 */
export const deleteDocumentsOfScope = async (tx: Transaction, scope: DeletedScope, now: Date): Promise<void> => {
  await tx.execute(sql`select pg_advisory_xact_lock(${keyOf(scope)})`)
  await deleteBatch(tx, scope, now)
}

/**
 * Deletes the remaining documents of deleted projects and worlds, and removes their rows after an hour. Several replicas
 * may run it concurrently.
 */
export const sweepDocuments = async ({ db, clock }: Pick<Deps, 'db' | 'clock'>, signal: AbortSignal): Promise<void> => {
  for (const scope of await deletedScopes(db)) {
    const now = new Date(clock.now())
    await repeat(signal, () => db.transaction((tx) => deleteBatch(tx, scope, now)))
    await repeat(signal, () => removeBatch(db, scope, new Date(now.getTime() - retentionMs)))
  }
}

/** Repeats a batch until one is not full, the maximum is reached or the signal is aborted. */
const repeat = async (signal: AbortSignal, batch: () => Promise<number>): Promise<void> => {
  for (let done = 0; done < maxBatches && !signal.aborted; done += 1) if ((await batch()) < batchSize) return
}

/** Deletes one batch of documents in the same way as a single deletion: empty data and a later version. */
const deleteBatch = async (tx: Transaction, scope: DeletedScope, now: Date): Promise<number> => {
  const { rowCount } = await tx.execute(sql`
    update documents set user_id = '', data = '{}'::jsonb, deleted_at = ${now.toISOString()}::timestamptz,
      version = greatest(${now.toISOString()}::timestamptz, version + interval '1 millisecond')
    where ctid = any(array(select ctid from documents
      where ${whereScope(scope)} and deleted_at is null limit ${batchSize} for update))`)
  return rowCount ?? 0
}

const removeBatch = async (db: Database, scope: DeletedScope, before: Date): Promise<number> => {
  const { rowCount } = await db.execute(sql`
    delete from documents where ctid = any(array(select ctid from documents
      where ${whereScope(scope)} and deleted_at < ${before.toISOString()}::timestamptz limit ${batchSize} for update))`)
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
    where (project_id <> '' and not exists (select from projects p where p.organization_id = s.organization_id
        and p.id = s.project_id and p.deleting_at is null))
      or (world_id <> '' and not exists (select from worlds w where w.organization_id = s.organization_id
        and w.project_id = s.project_id and w.id = s.world_id and w.deleting_at is null))`)
  return rows
}
