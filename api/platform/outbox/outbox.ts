import { and, asc, eq, inArray, isNull, lte, or, sql } from 'drizzle-orm'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { clusterOutbox } from './table.ts'

/** A thing whose resource is to be brought to a revision. */
export type Mark = { readonly kind: 'world' | 'bot'; readonly id: string; readonly revision: number }

/** A mark that this process alone works on until its lease is over. */
export type Claimed = typeof clusterOutbox.$inferSelect

/**
 * Marks a thing dirty in the transaction that changed it, so that the change and the mark are there together or not at
 * all. A push that is under way keeps its lease and sees by the epoch that something came.
 */
export const markDirty = (tx: Transaction, { kind, ...thing }: Mark, nowMs: number): Promise<void> =>
  markAllDirty(tx, kind, [thing], nowMs)

/** Marks many things of a kind, a thousand at a time. */
export const markAllDirty = async (
  tx: Transaction,
  kind: Mark['kind'],
  things: readonly { id: string; revision: number }[],
  nowMs: number,
): Promise<void> => {
  const nextAt = new Date(nowMs)
  for (let at = 0; at < things.length; at += maxRowsAtOnce) {
    const rows = things.slice(at, at + maxRowsAtOnce).map(({ id, revision }) => ({ kind, id, revision, nextAt }))
    await tx
      .insert(clusterOutbox)
      .values(rows)
      .onConflictDoUpdate({
        target: [clusterOutbox.kind, clusterOutbox.id],
        set: { revision: sql`excluded.revision`, nextAt, epoch: sql`${clusterOutbox.epoch} + 1`, attempts: 0 },
      })
  }
}

/** A statement has at most 65,535 parameters. */
const maxRowsAtOnce = 1_000

/** Whether a push of the thing is pending. */
export const isDirty = async (tx: Transaction, kind: Mark['kind'], id: string): Promise<boolean> => {
  const found = await tx
    .select({ id: clusterOutbox.id })
    .from(clusterOutbox)
    .where(and(eq(clusterOutbox.kind, kind), eq(clusterOutbox.id, id)))
  return found.length > 0
}

/** Claims due marks, the longest due first, that nobody holds; what others claim at the same moment is passed over. */
export const claim = (
  db: Database,
  { limit, leaseMs, nowMs }: { limit: number; leaseMs: number; nowMs: number },
): Promise<Claimed[]> => {
  const now = new Date(nowMs)
  const due = db
    .select({ id: clusterOutbox.id })
    .from(clusterOutbox)
    .where(
      and(lte(clusterOutbox.nextAt, now), or(isNull(clusterOutbox.leaseUntil), lte(clusterOutbox.leaseUntil, now))),
    )
    .orderBy(asc(clusterOutbox.nextAt))
    .limit(limit)
    .for('update', { skipLocked: true })
  return db
    .update(clusterOutbox)
    .set({ leaseUntil: new Date(nowMs + leaseMs) })
    .where(inArray(clusterOutbox.id, due))
    .returning()
}

const same = (claimed: Claimed) => and(eq(clusterOutbox.kind, claimed.kind), eq(clusterOutbox.id, claimed.id))

/** Ends a claim whose work is done: the mark goes, unless it was set again meanwhile; then it is due at once. */
export const settle = async (db: Database, claimed: Claimed): Promise<void> => {
  const gone = await db
    .delete(clusterOutbox)
    .where(and(same(claimed), eq(clusterOutbox.epoch, claimed.epoch), eq(clusterOutbox.revision, claimed.revision)))
    .returning({ id: clusterOutbox.id })
  if (gone.length === 0) await db.update(clusterOutbox).set({ leaseUntil: null }).where(same(claimed))
}

/** Ends a claim whose work is to be tried again after a while, or at once if the mark was set again meanwhile. */
export const retryLater = async (
  db: Database,
  claimed: Claimed,
  { delayMs, nowMs }: { delayMs: number; nowMs: number },
): Promise<void> => {
  const unchanged = sql`${clusterOutbox.epoch} = ${claimed.epoch}`
  const later = new Date(nowMs + delayMs).toISOString()
  await db
    .update(clusterOutbox)
    .set({
      leaseUntil: null,
      nextAt: sql`case when ${unchanged} then ${later}::timestamptz else ${clusterOutbox.nextAt} end`,
      attempts: sql`case when ${unchanged} then ${clusterOutbox.attempts} + 1 else 0 end`,
    })
    .where(same(claimed))
}
