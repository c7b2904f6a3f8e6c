import { and, eq, inArray, isNotNull, lt, sql } from 'drizzle-orm'
import type { Deps } from '#api/domain/access/context.ts'
import {
  type DeliveryRow,
  type disabledReasons,
  type WebhookRow,
  webhookDeliveries,
  webhooks,
} from '#api/domain/webhooks/table.ts'
import { insertAuditRecord } from '#api/platform/audit/records.ts'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import type { NewId } from '#shared/ids.ts'

/** A claimed delivery with its webhook. */
export type ClaimedDelivery = { readonly delivery: DeliveryRow; readonly webhook: WebhookRow }

/** The maximum numbers of attempts at the same time, over all replicas. */
export type Concurrency = { readonly perWebhook: number; readonly perOrganization: number }

/** A claim of deliveries. */
export type Claim = Concurrency & {
  readonly limit: number
  /** The part of `limit` that is only for organizations without an attempt under way. */
  readonly reserve: number
  /** The organization after which the turns begin, or '' to begin with the first. */
  readonly after: string
  readonly leaseMs: number
  readonly nowMs: number
}

/** The key of the advisory lock of a claim. It must differ from all other advisory locks of the product. */
const claimLock = 7_211_406
/** The number of webhooks with pending deliveries that one claim looks at. */
const maxWebhooks = 20_000

/**
 * Claims due deliveries of active webhooks, and counts the attempt. Organizations with the fewest attempts under way come first, and
 * take turns; of one, the oldest comes first. A claim ends with its lease, so another replica repeats an attempt that was interrupted.
 * One replica claims at a time, which keeps the concurrency exact; while another one claims, the result is empty.
 */
export const claimDeliveries = async (db: Database, { leaseMs, nowMs, ...turn }: Claim): Promise<ClaimedDelivery[]> => {
  // While no delivery is pending, a poll needs one query and no transaction.
  const pending = await db.execute(
    sql`select from webhook_deliveries where status = 'Pending' order by webhook_id limit 1`,
  )
  if (pending.rows.length === 0) return []
  return db.transaction(async (tx) => {
    const lock = await tx.execute<{ mine: boolean }>(sql`select pg_try_advisory_xact_lock(${claimLock}) as mine`)
    if (!lock.rows[0]?.mine) return []
    const ids = await findDue(tx, { now: new Date(nowMs), ...turn })
    if (ids.length === 0) return []
    const claimedUntil = new Date(nowMs + leaseMs)
    const claimed = await tx
      .update(webhookDeliveries)
      .set({ attempts: sql`${webhookDeliveries.attempts} + 1`, claimedUntil, nextAttemptAt: claimedUntil })
      .where(inArray(webhookDeliveries.id, ids))
      .returning()
    const owners = await tx
      .select()
      .from(webhooks)
      .where(inArray(webhooks.id, [...new Set(claimed.map(({ webhookId }) => webhookId))]))
    const byId = new Map(owners.map((webhook) => [webhook.id, webhook]))
    // In the order of the turns.
    const place = new Map(ids.map((id, at) => [id, at]))
    return claimed
      .sort((a, b) => (place.get(a.id) ?? 0) - (place.get(b.id) ?? 0))
      .flatMap((delivery) => {
        const webhook = byId.get(delivery.webhookId)
        return webhook === undefined ? [] : [{ delivery, webhook }]
      })
  })
}

/**
 * Returns the ids of deliveries to claim. The recursive query jumps from webhook to webhook in the index of pending deliveries, so
 * a long backlog of one webhook costs no more than a short one and does not delay the others.
 */
const findDue = async (
  tx: Transaction,
  { limit, reserve, after, now, perWebhook, perOrganization }: Omit<Claim, 'leaseMs' | 'nowMs'> & { now: Date },
): Promise<string[]> => {
  const at = sql`${now.toISOString()}::timestamptz`
  const { rows } = await tx.execute<{ id: string }>(sql`
    with recursive waiting (webhook_id) as (
      (select webhook_id from webhook_deliveries where status = 'Pending' order by webhook_id limit 1)
      union all
      select (select d.webhook_id from webhook_deliveries d where d.status = 'Pending' and d.webhook_id > w.webhook_id
        order by d.webhook_id limit 1)
      from waiting w where w.webhook_id is not null
    ), busy as (
      select organization_id, webhook_id, count(*) as attempts from webhook_deliveries
      where claimed_until is not null and claimed_until > ${at} group by organization_id, webhook_id
    ), due as (
      select d.id, d.next_attempt_at, h.organization_id,
        row_number() over (partition by h.organization_id order by d.next_attempt_at, d.id) + coalesce(
          (select sum(attempts) from busy where busy.organization_id = h.organization_id), 0) as place
      from (select webhook_id from waiting limit ${maxWebhooks}) w
      join webhooks h on h.id = w.webhook_id and h.is_active
      join organizations o on o.id = h.organization_id and o.deleting_at is null
      left join busy b on b.webhook_id = h.id
      cross join lateral (
        select id, next_attempt_at from webhook_deliveries
        where webhook_id = h.id and status = 'Pending' and next_attempt_at <= ${at}
        order by next_attempt_at limit greatest(0, ${perWebhook} - coalesce(b.attempts, 0)) for update skip locked
      ) d
    ), turns as (
      select id, place, row_number() over (order by place, organization_id <= ${after}, organization_id) as turn
      from due where place <= ${perOrganization}
    )
    select id from turns where turn <= ${limit} and (place = 1 or turn <= ${limit - reserve}) order by turn`)
  return rows.map(({ id }) => id)
}

/** The columns that record the end of an attempt. */
export type AttemptColumns = Pick<DeliveryRow, 'status' | 'nextAttemptAt' | 'lastAttemptAt' | 'statusCode' | 'failure'>

/** The columns of a webhook that the end of an attempt sets; undefined if it sets none. */
export type HealthColumns =
  | Pick<WebhookRow, 'failingSince'>
  | (Pick<WebhookRow, 'failingSince' | 'disabledAt'> & {
      isActive: false
      disabledReason: (typeof disabledReasons)[number]
    })

/**
 * Records the end of an attempt, unless its lease was lost: then another attempt or a redelivery replaces it. The webhook's row
 * is locked first, as by a deletion.
 */
export const settleDelivery = (
  { db, newId }: Pick<Deps, 'db' | 'newId'>,
  { delivery, webhook }: ClaimedDelivery,
  { attempt, health }: { attempt: AttemptColumns; health: HealthColumns | undefined },
): Promise<void> =>
  db.transaction(async (tx) => {
    if (health !== undefined) {
      // A change by the owner in the meantime, such as another URL, wins.
      const whereUnchanged = and(eq(webhooks.id, webhook.id), eq(webhooks.updatedAt, webhook.updatedAt))
      const whereActive = and(whereUnchanged, eq(webhooks.isActive, true))
      const isDisabled = 'disabledReason' in health
      const changed = await tx
        .update(webhooks)
        .set(health)
        .where(isDisabled ? whereActive : whereUnchanged)
        .returning()
      if (isDisabled) for (const row of changed) await recordDisabling(tx, row, newId)
    }
    await tx
      .update(webhookDeliveries)
      .set({ ...attempt, claimedUntil: null })
      .where(
        and(
          eq(webhookDeliveries.id, delivery.id),
          eq(webhookDeliveries.attempts, delivery.attempts),
          isNotNull(webhookDeliveries.claimedUntil),
          eq(webhookDeliveries.status, 'Pending'),
        ),
      )
  })

/** The number of deliveries that one statement deletes. */
const batchSize = 5_000
/** The maximum number of batches in one call. */
const maxBatches = 200

/** Deletes deliveries of events before this time, in bounded batches. */
export const deleteOldDeliveries = async (db: Database, beforeMs: number, signal: AbortSignal): Promise<void> => {
  for (let done = 0; done < maxBatches && !signal.aborted; done += 1) {
    const old = db
      .select({ id: webhookDeliveries.id })
      .from(webhookDeliveries)
      .where(lt(webhookDeliveries.createdAt, new Date(beforeMs)))
      .limit(batchSize)
    const { rowCount } = await db.delete(webhookDeliveries).where(inArray(webhookDeliveries.id, old))
    if ((rowCount ?? 0) < batchSize) return
  }
}

/**
 * Deletes the deliveries of each webhook that have ended and are older than its newest `maxKept`, in bounded batches. Reads that many
 * entries of the index for each webhook.
 */
export const deleteExcessDeliveries = async (db: Database, maxKept: number, signal: AbortSignal): Promise<void> => {
  for (let done = 0; done < maxBatches && !signal.aborted; done += 1) {
    const { rowCount } = await db.execute(sql`
      delete from webhook_deliveries where id in (
        select old.id from webhooks w
        cross join lateral (
          select created_at, id from webhook_deliveries where webhook_id = w.id
          order by created_at desc, id desc offset ${maxKept} limit 1
        ) newest
        cross join lateral (
          select id from webhook_deliveries
          where webhook_id = w.id and (created_at, id) <= (newest.created_at, newest.id) and status <> 'Pending'
          limit ${batchSize}
        ) old limit ${batchSize})`)
    if ((rowCount ?? 0) < batchSize) return
  }
}

/** Deactivates webhooks with more pending deliveries than `maxPending`. */
export const disableBacklogged = (
  { db, clock, newId }: Pick<Deps, 'db' | 'clock' | 'newId'>,
  maxPending: number,
): Promise<void> =>
  db.transaction(async (tx) => {
    const rows = await tx
      .update(webhooks)
      .set({ isActive: false, disabledAt: new Date(clock.now()), disabledReason: 'Backlog' })
      .where(
        and(
          eq(webhooks.isActive, true),
          sql`exists (select from webhook_deliveries d where d.webhook_id = ${webhooks.id} and d.status = 'Pending'
            order by d.next_attempt_at offset ${maxPending} limit 1)`,
        ),
      )
      .returning()
    for (const row of rows) await recordDisabling(tx, row, newId)
  })

/** Writes the audit record of a deactivation by the system. */
const recordDisabling = (
  tx: Transaction,
  { id, organizationId, disabledAt }: WebhookRow,
  newId: NewId,
): Promise<void> =>
  insertAuditRecord(tx, {
    id: newId('audit'),
    createdAt: disabledAt ?? new Date(),
    organizationId,
    projectId: '',
    door: 'system',
    actorKind: 'system',
    actorId: '',
    action: 'patchWebhook',
    resources: [id],
    fields: ['/isActive'],
    address: '',
    requestId: '',
  })

/** Counts the pending deliveries of active webhooks, up to `most`. */
export const countPending = async (db: Database, most: number): Promise<number> => {
  const { rows } = await db.execute<{ pending: number }>(sql`
    select count(*)::int as pending from (
      select from webhook_deliveries d join webhooks w on w.id = d.webhook_id and w.is_active
      where d.status = 'Pending' limit ${most}) d`)
  return rows[0]?.pending ?? 0
}

/**
 * Returns the seconds for which the oldest due delivery of an active webhook has waited for its attempt; 0 if none is due. Reads
 * one entry of the index for each webhook.
 */
export const readOldestDueSeconds = async (db: Database, nowMs: number): Promise<number> => {
  const at = sql`${new Date(nowMs).toISOString()}::timestamptz`
  const { rows } = await db.execute<{ seconds: number }>(sql`
    select coalesce(greatest(0, extract(epoch from ${at} - min(d.next_attempt_at))), 0)::float8 as seconds
    from webhooks w
    join organizations o on o.id = w.organization_id and o.deleting_at is null
    cross join lateral (
      select next_attempt_at from webhook_deliveries
      where webhook_id = w.id and status = 'Pending' order by next_attempt_at limit 1
    ) d
    where w.is_active`)
  return rows[0]?.seconds ?? 0
}
