import { asc, eq, gt } from 'drizzle-orm'
import { newSigningKey, signingKeyContext } from '#api/domain/access/issuer.ts'
import { apiKeyContext } from '#api/domain/apiKeys/apiKeys.ts'
import { apiKeys } from '#api/domain/apiKeys/table.ts'
import { signingKeys } from '#api/domain/users/table.ts'
import { createKeyStore } from '#api/domain/users/tokens.ts'
import { webhooks } from '#api/domain/webhooks/table.ts'
import { webhookContext } from '#api/domain/webhooks/webhooks.ts'
import { type CommandAuthor, recordCommand } from '#api/platform/audit/records.ts'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { idempotencyKeys } from '#api/platform/idempotency/table.ts'
import { fingerprintOf } from '#api/platform/secrets/apiKey.ts'
import type { Sealer } from '#api/platform/secrets/seal.ts'
import { withDefined } from '#shared/optional.ts'

const batchSize = 200

/** The context of a rotation. Each of its transactions leaves an audit record of the platform. */
export type RotationContext = CommandAuthor & { readonly db: Database; readonly sealer: Sealer }

/** The result of a rotation: the numbers of rows that it changed or deleted. */
export type Rotation = {
  readonly apiKeys: number
  readonly signingKeys: number
  readonly webhooks: number
  readonly forgottenAnswers: number
}

/**
 * Reseals all sealed columns under the current key-encryption key, in batches. It may be interrupted and repeated at any
 * time. Stored responses for Idempotency-Keys are deleted instead, since they expire within a day.
 */
export const rotateEncryption = async (ctx: RotationContext): Promise<Rotation> => ({
  forgottenAnswers: await deleteStoredResponses(ctx),
  apiKeys: await resealApiKeys(ctx),
  signingKeys: await resealSigningKeys(ctx),
  webhooks: await resealWebhooks(ctx),
})

const deleteStoredResponses = (ctx: RotationContext): Promise<number> =>
  ctx.db.transaction(async (tx) => {
    const { rowCount } = await tx.delete(idempotencyKeys)
    const count = rowCount ?? 0
    if (count > 0) await recordCommand(ctx, tx, { action: 'deleteStoredResponses', resources: [] })
    return count
  })

type Batches<Row> = {
  readonly action: string
  /** Reads and locks the rows behind an id, at most `batchSize`, in the order of their ids. */
  readonly read: (tx: Transaction, after: string) => Promise<Row[]>
  /** Changes a locked row. Returns false if it needs no change. */
  readonly change: (tx: Transaction, row: Row) => Promise<boolean>
}

/** Changes rows in batches, each with its audit record in one transaction. Returns the number of changed rows. */
const changeInBatches = async <Row extends { readonly id: string }>(
  ctx: RotationContext,
  { action, read, change }: Batches<Row>,
): Promise<number> => {
  let after = ''
  let count = 0
  for (;;) {
    const { rows, changed } = await ctx.db.transaction(async (tx) => {
      const batch = await read(tx, after)
      const ids: string[] = []
      for (const row of batch) if (await change(tx, row)) ids.push(row.id)
      if (ids.length > 0) await recordCommand(ctx, tx, { action, resources: ids })
      return { rows: batch, changed: ids.length }
    })
    count += changed
    after = rows.at(-1)?.id ?? ''
    if (rows.length < batchSize) return count
  }
}

const action = 'rotateEncryption'

const lockApiKeys = (tx: Transaction, after: string) =>
  tx.select().from(apiKeys).where(gt(apiKeys.id, after)).orderBy(asc(apiKeys.id)).limit(batchSize).for('no key update')

const resealApiKeys = (ctx: RotationContext): Promise<number> =>
  changeInBatches(ctx, {
    action,
    read: lockApiKeys,
    change: async (tx, row) => {
      const sealed = ctx.sealer.rewrap(row.sealed, apiKeyContext(row))
      if (sealed !== undefined) await tx.update(apiKeys).set({ sealed }).where(eq(apiKeys.id, row.id))
      return sealed !== undefined
    },
  })

const resealSigningKeys = (ctx: RotationContext): Promise<number> =>
  changeInBatches(ctx, {
    action,
    read: (tx, after) =>
      tx
        .select()
        .from(signingKeys)
        .where(gt(signingKeys.id, after))
        .orderBy(asc(signingKeys.id))
        .limit(batchSize)
        .for('no key update'),
    change: async (tx, { id, sealed: before }) => {
      const sealed = ctx.sealer.rewrap(before, signingKeyContext(id))
      if (sealed !== undefined) await tx.update(signingKeys).set({ sealed }).where(eq(signingKeys.id, id))
      return sealed !== undefined
    },
  })

const resealWebhooks = (ctx: RotationContext): Promise<number> =>
  changeInBatches(ctx, {
    action,
    read: (tx, after) =>
      tx
        .select()
        .from(webhooks)
        .where(gt(webhooks.id, after))
        .orderBy(asc(webhooks.id))
        .limit(batchSize)
        .for('no key update'),
    change: async (tx, row) => {
      const sealed = ctx.sealer.rewrap(row.sealed, webhookContext(row))
      const previous =
        row.previousSealed === null ? undefined : ctx.sealer.rewrap(row.previousSealed, webhookContext(row))
      if (sealed === undefined && previous === undefined) return false
      await tx
        .update(webhooks)
        .set(withDefined({ sealed, previousSealed: previous }))
        .where(eq(webhooks.id, row.id))
      return true
    },
  })

/**
 * Rewrites the fingerprints of all API keys under a pepper, so that the previous pepper can be removed. Returns the number
 * of changed keys. Strings that a rotation replaced are not stored, so they keep their fingerprint until the overlap ends.
 */
export const rotatePepper = (ctx: RotationContext, pepper: string): Promise<number> =>
  changeInBatches(ctx, {
    action: 'rotatePepper',
    read: lockApiKeys,
    change: async (tx, row) => {
      const fingerprint = fingerprintOf(ctx.sealer.open(row.sealed, apiKeyContext(row)), pepper)
      if (fingerprint === row.fingerprint) return false
      await tx.update(apiKeys).set({ fingerprint }).where(eq(apiKeys.id, row.id))
      return true
    },
  })

/**
 * Deletes a signing key. Within a second, no replica accepts its tokens or publishes its public half. The only key is
 * replaced by a new one first. Returns false if no key has this id.
 */
export const retireSigningKey = (ctx: RotationContext, id: string): Promise<boolean> =>
  ctx.db.transaction(async (tx) => {
    const keys = await createKeyStore(tx, ctx.clock.now).list()
    if (keys.every((key) => key.id !== id)) return false
    if (keys.length === 1) await insertSigningKey(ctx, tx)
    await tx.delete(signingKeys).where(eq(signingKeys.id, id))
    await recordCommand(ctx, tx, { action: 'retireSigningKey', resources: [id] })
    return true
  })

/** Adds a signing key. It signs after two seconds; older keys still verify. */
export const addSigningKey = (ctx: RotationContext): Promise<void> =>
  ctx.db.transaction((tx) => insertSigningKey(ctx, tx))

const insertSigningKey = async (ctx: RotationContext, tx: Transaction): Promise<void> => {
  const key = await newSigningKey(ctx.sealer)
  await createKeyStore(tx, ctx.clock.now).add(key)
  await recordCommand(ctx, tx, { action: 'addSigningKey', resources: [key.id] })
}
