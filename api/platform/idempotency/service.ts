import { and, eq, lt, sql } from 'drizzle-orm'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { Problem } from '#api/platform/http/problem.ts'
import type { Sealer } from '#api/platform/secrets/seal.ts'
import type { Clock } from '#shared/clock.ts'
import type { Idempotency } from './key.ts'
import { idempotencyKeys } from './table.ts'

/** A request that creates something. */
type Creation = {
  readonly db: Database
  readonly clock: Clock
  readonly sealer: Sealer
  readonly principal: { readonly id: string }
  readonly idempotency: Idempotency | undefined
}

const keptMs = 24 * 3_600_000
const about = (principalId: string, { operationId, key }: Idempotency): string =>
  `idempotency/${principalId}/${operationId}/${key}`

/**
 * Makes something in one transaction, and at most once for an Idempotency-Key: the answer is kept in the same
 * transaction as what it tells of, so that neither can be there alone. A second request with the key waits for the first
 * and gets its answer; with another body it gets a 409.
 */
export const createOnce = <T>(ctx: Creation, make: (tx: Transaction, now: Date) => Promise<T>): Promise<T> => {
  const now = new Date(ctx.clock.now())
  return ctx.db.transaction(async (tx) => {
    const asked = ctx.idempotency
    if (asked === undefined) return make(tx, now)
    const kept = await keep(ctx, tx, asked, now)
    if (kept !== undefined) {
      asked.replayed = true
      return JSON.parse(ctx.sealer.open(kept, about(ctx.principal.id, asked))) as T
    }
    const answer = await make(tx, now)
    const sealed = ctx.sealer.seal(JSON.stringify(answer), about(ctx.principal.id, asked))
    await tx.update(idempotencyKeys).set({ sealed }).where(whereKey(ctx, asked))
    return answer
  })
}

const whereKey = ({ principal }: Creation, { operationId, key }: Idempotency) =>
  and(
    eq(idempotencyKeys.principalId, principal.id),
    eq(idempotencyKeys.operationId, operationId),
    eq(idempotencyKeys.key, key),
  )

/** Takes the key for this transaction, or returns the sealed answer of the one that had it. */
const keep = async (ctx: Creation, tx: Transaction, asked: Idempotency, now: Date): Promise<string | undefined> => {
  const { operationId, key, fingerprint } = asked
  const row = { principalId: ctx.principal.id, operationId, key, fingerprint, sealed: '', createdAt: now }
  const forgotten = new Date(now.getTime() - keptMs)
  const taken = await tx
    .insert(idempotencyKeys)
    .values(row)
    .onConflictDoUpdate({
      target: [idempotencyKeys.principalId, idempotencyKeys.operationId, idempotencyKeys.key],
      set: { fingerprint, sealed: '', createdAt: now },
      setWhere: sql`${idempotencyKeys.createdAt} < ${forgotten.toISOString()}::timestamptz`,
    })
    .returning({ key: idempotencyKeys.key })
  if (taken.length > 0) return undefined
  const [found] = await tx.select().from(idempotencyKeys).where(whereKey(ctx, asked))
  if (found?.fingerprint === fingerprint) return found.sealed
  throw new Problem('conflict', 'This Idempotency-Key was used for another request; give each request its own.')
}

/** Forgets the answers that are older than a day. */
export const forgetIdempotencyKeys = async (db: Database, nowMs: number): Promise<void> => {
  await db.delete(idempotencyKeys).where(lt(idempotencyKeys.createdAt, new Date(nowMs - keptMs)))
}
