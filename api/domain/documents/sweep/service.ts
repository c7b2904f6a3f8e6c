import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { Deps } from '#api/domain/access/context.ts'
import { documents } from '#api/domain/documents/table.ts'
import type { Database, Transaction } from '#api/platform/database/client.ts'

/** How many documents one transaction ends or removes; a thousand take some ten milliseconds. */
const batchSize = 1_000
const maxBatches = 500
/** A replica that was away finds in the rows what it did not hear of, so they stay for a while. */
const retentionMs = 3_600_000

/** A project or a world that is deleted; '' is a project with all its worlds. */
type Ended = { readonly organizationId: string; readonly projectId: string; readonly worldId: string }

/** The key of the lock of all documents in a project or world. */
const keyOf = ({ organizationId, projectId, worldId }: Ended): SQL =>
  sql`hashtextextended(${JSON.stringify([organizationId, projectId, worldId])}, 0)`

/** Keeps the project and the world of a document from ending until the transaction of its writer does. */
export const shareScope = async (tx: Transaction, scope: Ended): Promise<void> => {
  await tx.execute(sql`
    select pg_advisory_xact_lock_shared(${keyOf({ ...scope, worldId: '' })}), pg_advisory_xact_lock_shared(${keyOf(scope)})`)
}

/**
 * Deletes the documents of a project or world in the transaction that deletes it, so that their followers hear of it at
 * once; nobody writes one meanwhile. Of very many a part is left to `sweepDocuments`.
 */
export const endDocuments = async (tx: Transaction, scope: Ended, now: Date): Promise<void> => {
  await tx.execute(sql`select pg_advisory_xact_lock(${keyOf(scope)})`)
  await endBatch(tx, scope, now)
}

/**
 * Deletes what is left of documents whose project or world is gone or going, and removes their rows once everybody has
 * heard of it. Any number of replicas may do it.
 */
export const sweepDocuments = async ({ db, clock }: Pick<Deps, 'db' | 'clock'>, signal: AbortSignal): Promise<void> => {
  for (const scope of await endedScopes(db)) {
    const now = new Date(clock.now())
    await repeat(signal, () => db.transaction((tx) => endBatch(tx, scope, now)))
    await repeat(signal, () => removeBatch(db, scope, new Date(now.getTime() - retentionMs)))
  }
}

/** Repeats what does one batch for as long as there are full ones. */
const repeat = async (signal: AbortSignal, batch: () => Promise<number>): Promise<void> => {
  for (let done = 0; done < maxBatches && !signal.aborted; done += 1) if ((await batch()) < batchSize) return
}

/** A tombstone is like that of a single deletion: empty, with a later version, of which the followers are told. */
const endBatch = async (tx: Transaction, scope: Ended, now: Date): Promise<number> => {
  const { rowCount } = await tx.execute(sql`
    update documents set user_id = '', data = '{}'::jsonb, deleted_at = ${now.toISOString()}::timestamptz,
      version = greatest(${now.toISOString()}::timestamptz, version + interval '1 millisecond')
    where ctid = any(array(select ctid from documents
      where ${within(scope)} and deleted_at is null limit ${batchSize} for update))`)
  return rowCount ?? 0
}

const removeBatch = async (db: Database, scope: Ended, before: Date): Promise<number> => {
  const { rowCount } = await db.execute(sql`
    delete from documents where ctid = any(array(select ctid from documents
      where ${within(scope)} and deleted_at < ${before.toISOString()}::timestamptz limit ${batchSize} for update))`)
  return rowCount ?? 0
}

const within = ({ organizationId, projectId, worldId }: Ended): SQL | undefined =>
  and(
    eq(documents.organizationId, organizationId),
    eq(documents.projectId, projectId),
    worldId === '' ? undefined : eq(documents.worldId, worldId),
  )

/** The scopes with documents whose project or world is gone or going; it reads one row of the index for each scope. */
const endedScopes = async (db: Database): Promise<Ended[]> => {
  const { rows } = await db.execute<Ended>(sql`
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
