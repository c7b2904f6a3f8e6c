import { and, asc, eq, gt } from 'drizzle-orm'
import { type KeyStore, newSigningKey, signingKeyContext } from '#api/domain/access/issuer.ts'
import { apiKeyContext } from '#api/domain/apiKeys/service.ts'
import { apiKeys } from '#api/domain/apiKeys/table.ts'
import { signingKeys } from '#api/domain/users/table.ts'
import type { Database } from '#api/platform/database/client.ts'
import { idempotencyKeys } from '#api/platform/idempotency/table.ts'
import { fingerprintOf } from '#api/platform/secrets/apiKey.ts'
import type { Sealer } from '#api/platform/secrets/seal.ts'

const batchSize = 200

/** The result of a rotation: the numbers of rows that it changed or deleted. */
export type Rotation = { readonly apiKeys: number; readonly signingKeys: number; readonly forgottenAnswers: number }

/**
 * Reseals all sealed columns under the current key-encryption key, row by row. It may be interrupted and repeated at any
 * time. A row that changes concurrently is sealed under the current key already. Stored responses for Idempotency-Keys are
 * deleted instead, since they expire within a day.
 */
export const rotateEncryption = async (db: Database, sealer: Sealer): Promise<Rotation> => {
  const deleted = await db.delete(idempotencyKeys).returning({ key: idempotencyKeys.key })
  return {
    apiKeys: await rewrapApiKeys(db, sealer),
    signingKeys: await rewrapSigningKeys(db, sealer),
    forgottenAnswers: deleted.length,
  }
}

const rewrapApiKeys = async (db: Database, sealer: Sealer): Promise<number> => {
  let after = ''
  let rewrapped = 0
  for (;;) {
    const rows = await db.select().from(apiKeys).where(gt(apiKeys.id, after)).orderBy(asc(apiKeys.id)).limit(batchSize)
    for (const row of rows) {
      const sealed = sealer.rewrap(row.sealed, apiKeyContext(row))
      if (sealed === undefined) continue
      await db.update(apiKeys).set({ sealed }).where(eq(apiKeys.id, row.id))
      rewrapped += 1
    }
    after = rows.at(-1)?.id ?? ''
    if (rows.length < batchSize) return rewrapped
  }
}

const rewrapSigningKeys = async (db: Database, sealer: Sealer): Promise<number> => {
  let rewrapped = 0
  for (const { id, sealed: before } of await db.select().from(signingKeys)) {
    const sealed = sealer.rewrap(before, signingKeyContext(id))
    if (sealed === undefined) continue
    await db.update(signingKeys).set({ sealed }).where(eq(signingKeys.id, id))
    rewrapped += 1
  }
  return rewrapped
}

/**
 * Rewrites the fingerprints of all API keys under a pepper, so that the previous pepper can be removed. Returns the number
 * of changed keys. Strings that a rotation replaced are not stored, so they keep their fingerprint until the overlap ends.
 */
export const rotatePepper = async (db: Database, sealer: Sealer, pepper: string): Promise<number> => {
  let after = ''
  let rewritten = 0
  for (;;) {
    const rows = await db.select().from(apiKeys).where(gt(apiKeys.id, after)).orderBy(asc(apiKeys.id)).limit(batchSize)
    for (const row of rows) {
      const fingerprint = fingerprintOf(sealer.open(row.sealed, apiKeyContext(row)), pepper)
      if (fingerprint === row.fingerprint) continue
      // A key that is rotated concurrently has a fingerprint under the current pepper already.
      const unchanged = and(eq(apiKeys.id, row.id), eq(apiKeys.fingerprint, row.fingerprint))
      const written = await db.update(apiKeys).set({ fingerprint }).where(unchanged).returning({ id: apiKeys.id })
      rewritten += written.length
    }
    after = rows.at(-1)?.id ?? ''
    if (rows.length < batchSize) return rewritten
  }
}

/**
 * Deletes a signing key. Within a second, no replica accepts its tokens or publishes its public half. The only key is
 * replaced by a new one first. Returns false if no key has this id.
 */
export const retireSigningKey = async (db: Database, store: KeyStore, sealer: Sealer, id: string): Promise<boolean> => {
  const keys = await store.list()
  if (keys.every((key) => key.id !== id)) return false
  if (keys.length === 1) await addSigningKey(store, sealer)
  await db.delete(signingKeys).where(eq(signingKeys.id, id))
  return true
}

/** Adds a signing key. It signs after two seconds; older keys still verify. */
export const addSigningKey = async (store: KeyStore, sealer: Sealer): Promise<void> =>
  store.add(await newSigningKey(sealer))
