import { and, asc, eq, inArray, isNull, lte, or, type Placeholder, type SQL, sql } from 'drizzle-orm'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { prepared } from '#api/platform/database/prepared.ts'
import { statement } from '#api/platform/database/statement.ts'
import { clusterOutbox } from './table.ts'

/**
 * A dirty row: its kind, id and revision. An organization's limits are pushed to its namespace in each cluster; the ids of
 * these marks are those of `organizationMark`.
 */
export type Mark = {
  readonly kind: 'world' | 'bot' | 'organization'
  readonly id: string
  readonly revision: number
  /** The trace of the request that changes the row. Without one, the mark keeps that of an earlier change. */
  readonly traceparent?: string | undefined
}

/** A mark that this process has claimed until its lease expires. */
export type Claimed = typeof clusterOutbox.$inferSelect

/** Returns the id of the mark that pushes an organization's limits to a cluster. */
export const organizationMark = (id: string, cluster: string): string => `${id}@${cluster}`

/** Returns the organization of such a mark. */
export const organizationOfMark = (id: string): string => id.split('@')[0] ?? ''

/** The time of the database. All times of marks come from it, because the clocks of replicas differ. */
const now = sql`date_trunc('milliseconds', now())`

const nowPlus = (delayMs: number | Placeholder) => sql`${now} + ${delayMs} * interval '1 millisecond'`

/**
 * Marks a row dirty in the transaction that changes it. A push in progress keeps its lease and detects the new mark by the
 * epoch.
 */
export const markDirty = (tx: Transaction, { kind, traceparent, ...row }: Mark): Promise<void> =>
  markAllDirty(tx, kind, [row], traceparent)

/** Marks many rows of a kind. */
export const markAllDirty = async (
  tx: Transaction,
  kind: Mark['kind'],
  marked: readonly { id: string; revision: number }[],
  traceparent?: string,
): Promise<void> => {
  const [ids, revisions] = [marked.map(({ id }) => id), marked.map(({ revision }) => revision)]
  await insertMarks(tx, { kind, ids, revisions, traceparent: traceparent ?? null })
}

type Marks = { kind: Mark['kind']; ids: readonly string[]; revisions: readonly number[]; traceparent: string | null }

// A statement, because each change writes a mark.
const insertMarks = statement<Marks>(sql`
  insert into cluster_outbox (kind, id, revision, next_at, traceparent)
  select ${sql.placeholder('kind')}, id, revision, ${now}, ${sql.placeholder('traceparent')}::text
  from unnest(${sql.placeholder('ids')}::text[], ${sql.placeholder('revisions')}::bigint[]) as marked (id, revision)
  on conflict (kind, id) do update set
    revision = excluded.revision,
    cluster = excluded.cluster,
    next_at = excluded.next_at,
    epoch = cluster_outbox.epoch + 1,
    attempts = 0,
    traceparent = coalesce(excluded.traceparent, cluster_outbox.traceparent)`)

/** Reports whether a push of the row is pending. */
export const isDirty = async (tx: Transaction, kind: Mark['kind'], id: string): Promise<boolean> =>
  (await selectMark(tx, { kind, id })).length > 0

// A statement, because each event of the cluster asks.
const selectMark = statement<{ kind: Mark['kind']; id: string }>(
  sql`select from cluster_outbox where kind = ${sql.placeholder('kind')} and id = ${sql.placeholder('id')}`,
)

/** The marks of one cluster, or those of every cluster that is not in a list. */
export type MarkedClusters = { readonly cluster: string } | { readonly exceptClusters: readonly string[] }

/** Claims due marks without a valid lease, the oldest first. Marks that others claim at the same time are skipped. */
export const claimMarks = (
  db: Database,
  { limit, leaseMs, ...of }: { limit: number; leaseMs: number } & MarkedClusters,
): Promise<Claimed[]> =>
  'cluster' in of
    ? claimQuery(db).execute({ limit, leaseMs, cluster: of.cluster })
    : claimUnservedQuery(db).execute({ limit, leaseMs, served: [...of.exceptClusters] })

const prepareClaim = (name: string, whereCluster: SQL) =>
  prepared((db) => {
    const due = db
      .select({ id: clusterOutbox.id })
      .from(clusterOutbox)
      .where(
        and(
          whereCluster,
          lte(clusterOutbox.nextAt, now),
          or(isNull(clusterOutbox.leaseUntil), lte(clusterOutbox.leaseUntil, now)),
        ),
      )
      .orderBy(asc(clusterOutbox.nextAt))
      .limit(sql.placeholder('limit'))
      .for('update', { skipLocked: true })
    return db
      .update(clusterOutbox)
      .set({ leaseUntil: nowPlus(sql.placeholder('leaseMs')) })
      .where(inArray(clusterOutbox.id, due))
      .returning()
      .prepare(name)
  })

const claimQuery = prepareClaim('claim', eq(clusterOutbox.cluster, sql.placeholder('cluster')))
const claimUnservedQuery = prepareClaim(
  'claim_unserved',
  sql`${clusterOutbox.cluster} <> all(${sql.placeholder('served')}::text[])`,
)

const whereMark = (claimed: Claimed) => and(eq(clusterOutbox.kind, claimed.kind), eq(clusterOutbox.id, claimed.id))

/**
 * Ends a successful claim. Deletes the mark, unless the row was marked again; then it is due at once. `record` is an update
 * that is executed before, in the same statement. Returns the seconds for which the row was dirty, or undefined if it still
 * is.
 */
export const settleClaim = async (db: Database, claimed: Claimed, record?: SQL): Promise<number | undefined> => {
  // The condition on the result of the update makes Postgres execute it first. All transactions lock rows before marks.
  const [before, isRecorded] =
    record === undefined
      ? [sql``, sql`true`]
      : [sql`with recorded as (${record} returning true)`, sql`(select count(*) from recorded) >= 0`]
  const { rows } = await db.execute<{ seconds: number }>(sql`
    ${before}
    delete from ${clusterOutbox}
    where ${and(whereMark(claimed), eq(clusterOutbox.epoch, claimed.epoch), eq(clusterOutbox.revision, claimed.revision))}
      and ${isRecorded}
    returning extract(epoch from now() - ${clusterOutbox.markedAt})::float8 as seconds`)
  if (rows.length === 0) await db.update(clusterOutbox).set({ leaseUntil: null }).where(whereMark(claimed))
  return rows[0]?.seconds
}

/** Ends a failed claim. The mark is due again after the delay, or at once if the row was marked again. */
export const retryLater = async (db: Database, claimed: Claimed, { delayMs }: { delayMs: number }): Promise<void> => {
  const unchanged = sql`${clusterOutbox.epoch} = ${claimed.epoch}`
  await db
    .update(clusterOutbox)
    .set({
      leaseUntil: null,
      nextAt: sql`case when ${unchanged} then ${nowPlus(delayMs)} else ${clusterOutbox.nextAt} end`,
      attempts: sql`case when ${unchanged} then ${clusterOutbox.attempts} + 1 else 0 end`,
    })
    .where(whereMark(claimed))
}

/**
 * Ends a claim by a cluster that the row has left, and gives the mark to the cluster of the row. A change that marks a row without
 * a lock on it can read its old cluster while a move is being committed. The mark of such a change must not be lost.
 */
export const redirectMark = async (db: Database, claimed: Claimed): Promise<void> => {
  await db
    .update(clusterOutbox)
    .set({ leaseUntil: null, cluster: sql`cluster_outbox_cluster(${clusterOutbox.kind}, ${clusterOutbox.id})` })
    .where(whereMark(claimed))
}
