import { type SQL, sql } from 'drizzle-orm'
import type { Database } from '#api/platform/database/client.ts'
import { statement } from '#api/platform/database/statement.ts'
import { type Claimed, releaseClaim } from '#api/platform/outbox/outbox.ts'
import { clusterOutbox } from '#api/platform/outbox/table.ts'
import { type Kind, type SyncedRow, tables } from '#api/sync/rows/synced.ts'
import type { KubeObject, ObjectMeta } from '#shared/kube/objects.ts'
import { kindList } from '#shared/resources/group.ts'

/**
 * The result of a push. `applied` is what must be recorded, `echo` the applied resource if pull need not read it. A row that is not
 * done is checked again after a delay, or pushed by the cluster that it is in.
 */
export type Pushed =
  | { readonly is: 'done'; readonly applied?: Applied; readonly echo?: KubeObject | undefined }
  | { readonly is: 'later'; readonly delayMs: number }
  | { readonly is: 'elsewhere' }

/**
 * Ends a successful claim and records what was applied, in one statement. Returns the seconds for which the row was dirty, or
 * undefined if it still is.
 */
export type Settle = (claimed: Claimed, applied: Applied | undefined) => Promise<number | undefined>

type Settlement = { readonly claimed: Claimed; readonly applied: Applied | undefined }
type Waiting = Settlement & {
  readonly resolve: (seconds: number | undefined) => void
  readonly reject: (error: unknown) => void
}

const maxBatch = 64

/** Creates a `Settle` that settles claims together if they end while others are being settled. */
export const createSettle = (db: Database): Settle => {
  const waiting: Waiting[] = []
  let isRunning = false
  const run = async (): Promise<void> => {
    isRunning = true
    // A pause between batches would save transactions, but new rows would be pushed at half the rate of bare applies.
    while (waiting.length > 0) await settleBatch(db, waiting.splice(0, maxBatch))
    isRunning = false
  }
  return (claimed, applied) =>
    new Promise((resolve, reject) => {
      waiting.push({ claimed, applied, resolve, reject })
      if (!isRunning) void run()
    })
}

/** Settles a batch. It never rejects: an error rejects the promises of the batch. */
const settleBatch = async (db: Database, batch: readonly Waiting[]): Promise<void> => {
  const settled = await settleTogether(db, batch).catch(() => undefined)
  await Promise.all(
    batch.map(async (each) => {
      try {
        each.resolve(settled?.get(keyOf(each.claimed)) ?? (await settleOne(db, each)))
      } catch (error) {
        each.reject(error)
      }
    }),
  )
}

/** Settles one claim. Waits for the lock of its row. */
const settleOne = async (db: Database, settlement: Settlement): Promise<number | undefined> => {
  const [settled] = await settleWaiting(db, toInput([settlement]))
  if (settled === undefined) await releaseClaim(db, settlement.claimed)
  return settled?.seconds
}

const keyOf = ({ kind, id }: { kind: string; id: string }): string => `${kind} ${id}`

/**
 * Settles claims in one statement, and returns the seconds for which each row was dirty. Rows that were marked again or that
 * are locked by others are left out: waiting for several locks could deadlock.
 */
const settleTogether = async (db: Database, batch: readonly Settlement[]): Promise<Map<string, number>> => {
  const rows = await settleUnlocked(db, toInput(batch))
  return new Map(rows.map((row) => [keyOf(row), row.seconds]))
}

/** The result of an apply: the row as it was pushed, and the applied resource. */
type Applied = {
  readonly row: Pick<SyncedRow, 'cluster' | 'revision'>
  readonly spec: object
  readonly metadata: Pick<ObjectMeta, 'uid' | 'resourceVersion'>
}

/** Returns the input of a settlement. The members of an apply have the prefix `pushed_`. */
const toInput = (batch: readonly Settlement[]): { input: string } => ({
  input: JSON.stringify(
    batch.map(({ claimed: { kind, id, epoch, revision }, applied }) => ({
      ...{ kind, id, epoch, revision },
      ...(applied && {
        pushed_spec: applied.spec,
        pushed_uid: applied.metadata.uid ?? null,
        pushed_version: applied.metadata.resourceVersion ?? null,
        pushed_revision: applied.row.revision,
        pushed_cluster: applied.row.cluster,
      }),
    })),
  ),
})

const inputColumns = sql.raw(
  `kind text, id text, epoch int, revision bigint, pushed_spec jsonb, pushed_uid text, pushed_version text,
   pushed_revision bigint, pushed_cluster text`,
)

/** The condition for rows that have recorded a later version. Compares versions as `isOlder` does. It is false if one is null. */
const hasLater = sql.raw(`(
  resource_uid = pushed_uid and coalesce(
    case when pushed_version ~ '^\\d{1,30}$' and applied_resource_version ~ '^\\d{1,30}$'
    then pushed_version::numeric < applied_resource_version::numeric end, false))`)
const appliedRevision = sql.raw(`coalesce((applied->>'revision')::bigint, 0)`)

/**
 * Returns the update that records the applied specs of the locked rows of a kind, unless newer ones are recorded. The recorded version
 * never decreases: pull may have seen a later one than the response of the apply, and a push with the earlier version would conflict
 * forever.
 */
const recordApplied = (kind: Kind): SQL => {
  const table = tables[kind]
  // If pull has seen a later version with this revision, it has already acknowledged an edit of this apply. The cluster is compared,
  // because a push that outlasted its lease may end after the row has moved to another one.
  return sql`
    update ${table} set
      applied = case when ${hasLater} and ${appliedRevision} = pushed_revision then applied else pushed_spec end,
      resource_uid = pushed_uid,
      applied_resource_version = case when ${hasLater} then applied_resource_version else pushed_version end,
      push_refusal = null
    from input
    where ${table.id} = input.id and input.kind = ${kind} and input.id in (select id from ${locked(kind)})
      and cluster = pushed_cluster and ${appliedRevision} <= pushed_revision`
}

type Settled = { readonly kind: string; readonly id: string; readonly seconds: number }

const forKinds = (make: (kind: Kind) => SQL, separator: SQL): SQL => sql.join(kindList.map(make), separator)
const locked = (kind: Kind): SQL => sql.identifier(`locked_${kind}`).getSQL()
const recorded = (kind: Kind): SQL => sql.identifier(`recorded_${kind}`).getSQL()

const lockRows = (kind: Kind, wait: SQL): SQL =>
  sql`select id from ${tables[kind]} where id in (select id from input where pushed_spec is not null) for no key update ${wait}`

const settleWith = (wait: SQL) =>
  statement<{ input: string }, Settled>(sql`
    with input as materialized (
      select * from jsonb_to_recordset(${sql.placeholder('input')}::text::jsonb) as input(${inputColumns})
    ),
    ${forKinds((kind) => sql`${locked(kind)} as materialized (${lockRows(kind, wait)})`, sql`, `)},
    ${forKinds((kind) => sql`${recorded(kind)} as (${recordApplied(kind)} returning true)`, sql`, `)}
    delete from ${clusterOutbox} using input
    where ${clusterOutbox.kind} = input.kind and ${clusterOutbox.id} = input.id
      and ${clusterOutbox.epoch} = input.epoch and ${clusterOutbox.revision} = input.revision
      and (pushed_spec is null or input.id in (${forKinds((kind) => sql`select id from ${locked(kind)}`, sql` union all `)}))
      -- These conditions make Postgres execute the updates first. All transactions lock rows before marks.
      and ${forKinds((kind) => sql`(select count(*) from ${recorded(kind)}) >= 0`, sql` and `)}
    returning input.kind, input.id, extract(epoch from now() - ${clusterOutbox.markedAt})::float8 as seconds`)

const settleUnlocked = settleWith(sql`skip locked`)
const settleWaiting = settleWith(sql``)
