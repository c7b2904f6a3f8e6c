import { and, eq, sql } from 'drizzle-orm'
import { permissionsOfBot } from '#api/domain/access/claims.ts'
import { type ApiKeyRow, apiKeys } from '#api/domain/apiKeys/table.ts'
import type { Principal } from '#api/platform/auth/principal.ts'
import type { Database, Transaction } from '#api/platform/database/client.ts'

/** Finds who a key belongs to, by the fingerprint of the key; inactive keys belong to nobody. */
export const createKeyLookup = (db: Database) => {
  const query = db
    .select({ id: apiKeys.id, permissions: apiKeys.permissions, claims: apiKeys.claims })
    .from(apiKeys)
    .where(and(eq(apiKeys.fingerprint, sql.placeholder('fingerprint')), eq(apiKeys.isActive, true)))
    .prepare('key_by_fingerprint')
  return async (fingerprint: string): Promise<Principal | undefined> => {
    const [row] = await query.execute({ fingerprint })
    return row && principalOfKey(row)
  }
}

/** Who an active key belongs to, by its row. */
export const principalOfKey = (row: Pick<ApiKeyRow, 'id' | 'permissions' | 'claims'>): Principal => {
  const claims = Object.entries(row.claims).flatMap(([claim, granted]) => (granted ? [claim] : []))
  const who = { kind: 'key', id: row.id, bucket: row.id } as const
  // A bot's key has no other ability beside its one, whatever claims it was given.
  if (claims.includes('bot')) return { ...who, permissions: permissionsOfBot(row.permissions), claims: ['bot'] }
  return { ...who, permissions: row.permissions, claims }
}

/** Adds a permission to an API key. A principal that is no key is left as it is. */
export const grantToKey = async (tx: Transaction, keyId: string, permission: string, now: Date): Promise<void> => {
  const granted = JSON.stringify([permission])
  await tx
    .update(apiKeys)
    .set({ permissions: sql`${apiKeys.permissions} || ${granted}::jsonb`, updatedAt: now })
    .where(eq(apiKeys.id, keyId))
}
