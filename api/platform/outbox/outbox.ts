import { and, asc, eq, inArray, isNull, lte, or, sql } from 'drizzle-orm'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { clusterOutbox } from './table.ts'

/** A dirty row: its kind, id and revision. */
export type Mark = { readonly kind: 'world' | 'bot'; readonly id: string; readonly revision: number }

/** A mark that this process has claimed until its lease expires. */
export type Claimed = typeof clusterOutbox.$inferSelect

/**
 * Marks a row dirty in the transaction that changes it. A push in progress keeps its lease and detects the new mark by the
 * epoch.
 */
export const markDirty = (tx: Transaction, { kind, ...row }: Mark, nowMs: number): Promise<void> =>
  markAllDirty(tx, kind, [row], nowMs)

/** Marks many rows of a kind, in statements of a thousand rows. */
export const markAllDirty = async (
  tx: Transaction,
  kind: Mark['kind'],
  marked: readonly { id: string; revision: number }[],
  nowMs: number,
): Promise<void> => {
  const nextAt = new Date(nowMs)
  for (let at = 0; at < marked.length; at += rowsPerStatement) {
    const rows = marked.slice(at, at + rowsPerStatement).map(({ id, revision }) => ({ kind, id, revision, nextAt }))
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
const rowsPerStatement = 1_000

/** Reports whether a push of the row is pending. */
export const isDirty = async (tx: Transaction, kind: Mark['kind'], id: string): Promise<boolean> => {
  const rows = await tx
    .select({ id: clusterOutbox.id })
    .from(clusterOutbox)
    .where(and(eq(clusterOutbox.kind, kind), eq(clusterOutbox.id, id)))
  return rows.length > 0
}

/** Claims due marks without a valid lease, the oldest first. Marks that others claim at the same time are skipped. */
export const claimMarks = (
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

const whereMark = (claimed: Claimed) => and(eq(clusterOutbox.kind, claimed.kind), eq(clusterOutbox.id, claimed.id))

/** Ends a successful claim. Deletes the mark, unless the row was marked again; then it is due at once. */
export const settleClaim = async (db: Database, claimed: Claimed): Promise<void> => {
  const gone = await db
    .delete(clusterOutbox)
    .where(
      and(whereMark(claimed), eq(clusterOutbox.epoch, claimed.epoch), eq(clusterOutbox.revision, claimed.revision)),
    )
    .returning({ id: clusterOutbox.id })
  if (gone.length === 0) await db.update(clusterOutbox).set({ leaseUntil: null }).where(whereMark(claimed))
}

/** Ends a failed claim. The mark is due again after the delay, or at once if the row was marked again. */
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
    .where(whereMark(claimed))
}
