import { and, asc, eq, inArray, isNull, lte, or, type Placeholder, type SQL, sql } from 'drizzle-orm'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { prepared } from '#api/platform/database/prepared.ts'
import { statement } from '#api/platform/database/statement.ts'
import type { Kind } from '#shared/resources/group.ts'
import { clusterOutbox } from './table.ts'

/**
 * A dirty row: its kind, id and revision. An organization's limits are pushed to its namespace in each cluster; the ids of
 * these marks are those of `organizationMark`.
 */
export type Mark = {
  readonly kind: Kind | 'organization'
  readonly id: string
  readonly revision: number
  /** The trace of the request that changes the row. Without one, the mark keeps that of an earlier change. */
  readonly traceparent?: string | undefined
}

/** A mark that this process has claimed until its lease expires. */
export type Claimed = Pick<
  typeof clusterOutbox.$inferSelect,
  'kind' | 'id' | 'revision' | 'epoch' | 'attempts' | 'cluster' | 'organizationId' | 'traceparent'
>

/** Returns the id of the mark that pushes an organization's limits to a cluster. */
export const organizationMark = (id: string, cluster: string): string => `${id}@${cluster}`

/** Returns the organization of a mark with an id of `organizationMark`. */
export const organizationOfMark = (id: string): string => id.split('@')[0] ?? ''

/** The time of the database. All times of marks come from it, because the clocks of replicas differ. */
const now = sql`date_trunc('milliseconds', now())`

const nowPlus = (delayMs: number | Placeholder) => sql`${now} + ${delayMs} * interval '1 millisecond'`

/** The condition for marks that are due and not claimed. */
const whereDue = and(
  lte(clusterOutbox.nextAt, now),
  or(isNull(clusterOutbox.leaseUntil), lte(clusterOutbox.leaseUntil, now)),
)

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

/** Claims the oldest due marks without a valid lease whose cluster is not in a list. Marks that others claim are skipped. */
export const claimUnserved = (db: Database, claim: { limit: number; leaseMs: number; served: readonly string[] }) =>
  claimUnservedQuery(db).execute({ ...claim, served: [...claim.served] })

const claimUnservedQuery = prepared((db) => {
  const due = db
    .select({ id: clusterOutbox.id })
    .from(clusterOutbox)
    .where(and(sql`${clusterOutbox.cluster} <> all(${sql.placeholder('served')}::text[])`, whereDue))
    .orderBy(asc(clusterOutbox.nextAt))
    .limit(sql.placeholder('limit'))
    .for('update', { skipLocked: true })
  return db
    .update(clusterOutbox)
    .set({ leaseUntil: nowPlus(sql.placeholder('leaseMs')) })
    .where(inArray(clusterOutbox.id, due))
    .returning()
    .prepare('claim_unserved')
})

/** A claim of marks of one cluster. */
export type Turn = {
  readonly cluster: string
  readonly leaseMs: number
  readonly limit: number
  /** The most marks of one organization. */
  readonly maxOfOne: number
  /** Organizations whose marks are not claimed. */
  readonly except: readonly string[]
  /** The organization after which the turns begin, or undefined to begin with the first. */
  readonly after: string | undefined
}

/** The marks of a turn, and the organization after which the next one begins. Undefined if this turn saw the last organization. */
export type Turned = { readonly claimed: readonly Claimed[]; readonly last: string | undefined }

/** The most organizations that one turn visits. Each costs a look at the index, even if none of its marks is due. */
const maxVisited = 128

/**
 * Claims due marks without a valid lease: of one organization after the other, of each the oldest. Marks that others claim at the same
 * time are skipped. The cost depends on the organizations visited and the marks claimed, not on the number of marks.
 */
export const claimTurn = async (db: Database, { after, ...turn }: Turn): Promise<Turned> => {
  const rows = await (after === undefined ? claimFirst(db, turn) : claimNext(db, { ...turn, after }))
  return { claimed: rows.filter(({ id }) => id !== null), last: rows[0]?.last ?? undefined }
}

const nextOrganization = (last: SQL | undefined): SQL => sql`(
  select organization_id from cluster_outbox
  where cluster = ${sql.placeholder('cluster')} ${last === undefined ? sql`` : sql`and organization_id > ${last}`}
  order by organization_id limit 1)`

/**
 * Returns the claim of `claimTurn` that begins with an organization. An array finds the locked rows in the primary key, since the ids
 * of kinds differ: after an ANALYZE of the empty table, Postgres expects one row in it, however many there are, and would join all of
 * them. `id` is the first column of the key, because Postgres before 17 does not search a later one for an array.
 */
const claimFrom = <Values extends Omit<Turn, 'after'>>(first: SQL) =>
  statement<Values, Claimed & { last: string | null }>(sql`
    with recursive visited (id, count) as (
      select ${first}, 1
      union all
      select ${nextOrganization(sql`visited.id`)}, count + 1 from visited
      where id is not null and count < ${sql.raw(String(maxVisited))}
    ),
    due as materialized (
      select oldest.id from visited cross join lateral (
        select id from cluster_outbox
        where cluster = ${sql.placeholder('cluster')} and organization_id = visited.id and ${whereDue}
        order by next_at limit ${sql.placeholder('maxOfOne')} for update skip locked
      ) as oldest
      where visited.id <> all(${sql.placeholder('except')}::text[])
      limit ${sql.placeholder('limit')}
    ),
    claimed as (
      update cluster_outbox set lease_until = ${nowPlus(sql.placeholder('leaseMs'))}
      where id = any(array(select id from due))
      returning *
    )
    select
      case
        when (select count(*) from claimed) >= ${sql.placeholder('limit')} then (select max(organization_id) from claimed)
        when (select count(id) from visited) >= ${sql.raw(String(maxVisited))} then (select max(id) from visited)
      end as last,
      kind, id, revision::float8, epoch, attempts, cluster, organization_id as "organizationId", traceparent
    from (values (1)) as one left join claimed on true`)

const claimFirst = claimFrom(nextOrganization(undefined))
const claimNext = claimFrom<Omit<Turn, 'after'> & { readonly after: string }>(
  nextOrganization(sql`${sql.placeholder('after')}`),
)

const whereMark = (claimed: Claimed) => and(eq(clusterOutbox.kind, claimed.kind), eq(clusterOutbox.id, claimed.id))

/**
 * Ends a successful claim. Deletes the mark, unless the row was marked again; then it is due at once. Returns the seconds for which the
 * row was dirty, or undefined if it still is.
 */
export const settleClaim = async (db: Database, claimed: Claimed): Promise<number | undefined> => {
  const { rows } = await db.execute<{ seconds: number }>(sql`
    delete from ${clusterOutbox}
    where ${and(whereMark(claimed), eq(clusterOutbox.epoch, claimed.epoch), eq(clusterOutbox.revision, claimed.revision))}
    returning extract(epoch from now() - ${clusterOutbox.markedAt})::float8 as seconds`)
  if (rows.length === 0) await releaseClaim(db, claimed)
  return rows[0]?.seconds
}

/** Ends a claim whose row was marked again. The mark is due at once. */
export const releaseClaim = async (db: Database, claimed: Claimed): Promise<void> => {
  await db.update(clusterOutbox).set({ leaseUntil: null }).where(whereMark(claimed))
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
    .set({
      leaseUntil: null,
      cluster: sql`(select place.cluster from cluster_outbox_place(${clusterOutbox.kind}, ${clusterOutbox.id}) as place)`,
    })
    .where(whereMark(claimed))
}
