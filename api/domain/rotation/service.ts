import { and, asc, eq, gt } from 'drizzle-orm'
import { signingKeyContext, type KeyStore, newSigningKey } from '#api/domain/access/issuer.ts'
import { apiKeyContext } from '#api/domain/apiKeys/service.ts'
import { apiKeys } from '#api/domain/apiKeys/table.ts'
import { signingKeys } from '#api/domain/users/table.ts'
import type { Database } from '#api/platform/database/client.ts'
import { idempotencyKeys } from '#api/platform/idempotency/table.ts'
import { fingerprintOf } from '#api/platform/secrets/apiKey.ts'
import type { Sealer } from '#api/platform/secrets/seal.ts'

const batchSize = 200

/** What a rotation did. */
export type Rotation = { readonly apiKeys: number; readonly signingKeys: number; readonly forgottenAnswers: number }

/**
 * Seals everything that is sealed under the current key-encryption key, row by row, so that it can be ended and begun
 * again at any moment. A row that is changed meanwhile is already under the current key. Answers that are kept for
 * Idempotency-Keys are forgotten instead: they would be within a day.
 */
export const rotateEncryption = async (db: Database, sealer: Sealer): Promise<Rotation> => {
  const forgotten = await db.delete(idempotencyKeys).returning({ key: idempotencyKeys.key })
  return {
    apiKeys: await rewrapApiKeys(db, sealer),
    signingKeys: await rewrapSigningKeys(db, sealer),
    forgottenAnswers: forgotten.length,
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
 * Writes the fingerprints of all keys anew under a pepper, so that the previous pepper can be taken away. The strings
 * that rotations replaced are not stored and keep their fingerprint until their overlap ends.
 */
export const rotatePepper = async (db: Database, sealer: Sealer, pepper: string): Promise<number> => {
  let after = ''
  let rewritten = 0
  for (;;) {
    const rows = await db.select().from(apiKeys).where(gt(apiKeys.id, after)).orderBy(asc(apiKeys.id)).limit(batchSize)
    for (const row of rows) {
      const fingerprint = fingerprintOf(sealer.open(row.sealed, apiKeyContext(row)), pepper)
      if (fingerprint === row.fingerprint) continue
      // A key that is rotated at this moment has a fingerprint under the current pepper already.
      const unchanged = and(eq(apiKeys.id, row.id), eq(apiKeys.fingerprint, row.fingerprint))
      const written = await db.update(apiKeys).set({ fingerprint }).where(unchanged).returning({ id: apiKeys.id })
      rewritten += written.length
    }
    after = rows.at(-1)?.id ?? ''
    if (rows.length < batchSize) return rewritten
  }
}

/**
 * Retires a signing key at once: within a second no replica accepts its tokens or serves its public half. Returns false
 * where no such key exists. The last key is replaced by a new one first.
 */
export const retireSigningKey = async (db: Database, store: KeyStore, sealer: Sealer, id: string): Promise<boolean> => {
  const keys = await store.list()
  if (keys.every((key) => key.id !== id)) return false
  if (keys.length === 1) await addSigningKey(store, sealer)
  await db.delete(signingKeys).where(eq(signingKeys.id, id))
  return true
}

/** Makes a new signing key, which signs two seconds later; the older ones go on verifying. */
export const addSigningKey = async (store: KeyStore, sealer: Sealer): Promise<void> =>
  store.add(await newSigningKey(sealer))
