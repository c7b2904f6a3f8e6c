import { and, count, eq, lt, sql } from 'drizzle-orm'
import { callerName, type Principal } from '#api/platform/auth/principal.ts'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { Problem } from '#api/platform/http/problem.ts'
import type { Sealer } from '#api/platform/secrets/seal.ts'
import type { Clock } from '#shared/clock.ts'
import type { Idempotency } from './key.ts'
import { idempotencyKeys } from './table.ts'

/** The context of a request that creates a resource. */
type Creation = {
  readonly db: Database
  readonly clock: Clock
  readonly sealer: Sealer
  readonly principal: Pick<Principal, 'kind' | 'id' | 'bucket' | 'organizationId'>
  readonly idempotency: Idempotency | undefined
  /** Throws a 412 if a precondition of the request does not hold. A replay needs none. */
  readonly checkConditions: (tx: Transaction) => Promise<void>
}

const retentionMs = 24 * 3_600_000
/** The number of keys that an organization may use within the retention. Concurrent requests may exceed it by their number. */
const maxPerOrganization = 10_000

/** Returns the context to which a sealed response is bound. */
const contextOf = (principalId: string, { operationId, key }: Idempotency): string =>
  `idempotency/${principalId}/${operationId}/${key}`

/**
 * Runs a creation in one transaction, at most once per Idempotency-Key. The response is stored in the same transaction as
 * the created rows. A second request with the same key waits for the first and gets its response; with another body it
 * gets a 409.
 */
export const createOnce = <T>(ctx: Creation, create: (tx: Transaction, now: Date) => Promise<T>): Promise<T> => {
  const now = new Date(ctx.clock.now())
  return ctx.db.transaction(async (tx) => {
    const idempotency = ctx.idempotency
    if (idempotency === undefined) {
      await ctx.checkConditions(tx)
      return create(tx, now)
    }
    const stored = await claimKey(ctx, tx, idempotency, now)
    if (stored !== undefined) {
      idempotency.replayed = true
      return JSON.parse(ctx.sealer.open(stored, contextOf(callerName(ctx.principal), idempotency))) as T
    }
    await ctx.checkConditions(tx)
    const answer = await create(tx, now)
    const sealed = ctx.sealer.seal(JSON.stringify(answer), contextOf(callerName(ctx.principal), idempotency))
    await tx.update(idempotencyKeys).set({ sealed }).where(whereKey(ctx, idempotency))
    return answer
  })
}

const whereKey = ({ principal }: Creation, { operationId, key }: Idempotency) =>
  and(
    eq(idempotencyKeys.principalId, callerName(principal)),
    eq(idempotencyKeys.operationId, operationId),
    eq(idempotencyKeys.key, key),
  )

/**
 * Claims the key for this transaction, or returns the sealed response of the request that claimed it before. Throws a 429 for a new
 * key of an organization that has used its maximum. The platform key has none.
 */
const claimKey = async (
  ctx: Creation,
  tx: Transaction,
  idempotency: Idempotency,
  now: Date,
): Promise<string | undefined> => {
  const { operationId, key, fingerprint } = idempotency
  const { organizationId = '' } = ctx.principal
  const principalId = callerName(ctx.principal)
  const row = { principalId, organizationId, operationId, key, fingerprint, sealed: '', createdAt: now }
  const expiredAt = new Date(now.getTime() - retentionMs)
  // One round trip. The second statement counts the row of the first.
  const [claimed, used] = await Promise.all([
    tx
      .insert(idempotencyKeys)
      .values(row)
      .onConflictDoUpdate({
        target: [idempotencyKeys.principalId, idempotencyKeys.operationId, idempotencyKeys.key],
        set: { organizationId, fingerprint, sealed: '', createdAt: now },
        setWhere: sql`${idempotencyKeys.createdAt} < ${expiredAt.toISOString()}::timestamptz`,
      })
      .returning({ key: idempotencyKeys.key })
      .execute(),
    organizationId === '' ? 0 : countKeys(tx, organizationId),
  ])
  if (claimed.length > 0) {
    if (used > maxPerOrganization) throw tooManyKeys()
    return undefined
  }
  const [found] = await tx.select().from(idempotencyKeys).where(whereKey(ctx, idempotency))
  if (found?.fingerprint === fingerprint) return found.sealed
  throw new Problem(
    'conflict',
    'This Idempotency-Key was used for a different request. Use a new key for each request.',
  )
}

const countKeys = async (tx: Transaction, organizationId: string): Promise<number> => {
  const some = tx
    .select({ key: idempotencyKeys.key })
    .from(idempotencyKeys)
    .where(eq(idempotencyKeys.organizationId, organizationId))
    .limit(maxPerOrganization + 1)
    .as('some')
  const [counted] = await tx.select({ keys: count() }).from(some).execute()
  return counted?.keys ?? 0
}

const tooManyKeys = (): Problem => {
  const detail =
    `The organization has used ${maxPerOrganization} Idempotency-Keys within 24 hours, which is the limit. ` +
    'Retry later, or send the request without the header.'
  return new Problem('rate_limited', detail, { headers: { 'retry-after': '3600' } })
}

/** Deletes stored responses that are older than a day. */
export const deleteExpiredIdempotencyKeys = async (db: Database, nowMs: number): Promise<void> => {
  await db.delete(idempotencyKeys).where(lt(idempotencyKeys.createdAt, new Date(nowMs - retentionMs)))
}
