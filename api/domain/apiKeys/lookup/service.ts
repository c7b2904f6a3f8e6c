import { eq, sql } from 'drizzle-orm'
import { permissionsOfBot } from '#api/domain/access/claims.ts'
import { type ApiKeyRow, apiKeys } from '#api/domain/apiKeys/table.ts'
import type { FoundKey } from '#api/platform/auth/keyCache.ts'
import type { Principal } from '#api/platform/auth/principal.ts'
import type { Database, Transaction } from '#api/platform/database/client.ts'

/** The columns of a key that its principal is made of. */
export const principalColumns = {
  id: apiKeys.id,
  organizationId: apiKeys.organizationId,
  permissions: apiKeys.permissions,
  claims: apiKeys.claims,
}

/** Returns a look-up of keys by fingerprint. An inactive key is found without a principal. */
export const createKeyLookup = (db: Database) => {
  const query = db
    .select({ ...principalColumns, isActive: apiKeys.isActive })
    .from(apiKeys)
    .where(eq(apiKeys.fingerprint, sql.placeholder('fingerprint')))
    .prepare('key_by_fingerprint')
  return async (fingerprint: string): Promise<FoundKey | undefined> => {
    const [row] = await query.execute({ fingerprint })
    return row && { id: row.id, principal: row.isActive ? principalOfKey(row) : undefined }
  }
}

/** Returns the principal of an active key. */
export const principalOfKey = (row: Pick<ApiKeyRow, keyof typeof principalColumns>): Principal => {
  const claims = Object.entries(row.claims).flatMap(([claim, granted]) => (granted ? [claim] : []))
  const who = { kind: 'key', id: row.id, bucket: `${row.organizationId} key ${row.id}` } as const
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
