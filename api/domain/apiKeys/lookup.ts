import { and, eq, inArray, isNull, sql } from 'drizzle-orm'
import { permissionsOfBot, platform } from '#api/domain/access/claims.ts'
import { type GroupMapping, permissionsOfExternal } from '#api/domain/access/groups.ts'
import { type ApiKeyRow, apiKeys } from '#api/domain/apiKeys/table.ts'
import { organizations } from '#api/domain/organizations/table.ts'
import { revokedTokens, signingKeys } from '#api/domain/users/table.ts'
import type { Found } from '#api/platform/auth/freshCache.ts'
import type { IssuedToken, Principal } from '#api/platform/auth/principal.ts'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { mayGrant } from '#shared/domain/permissions.ts'
import { withDefined } from '#shared/optional.ts'

type KeyRow = Pick<
  ApiKeyRow,
  | 'id'
  | 'organizationId'
  | 'isActive'
  | 'permissions'
  | 'claims'
  | 'rotation'
  | 'previousValidUntil'
  | 'expiresAt'
  | 'allowedNetworks'
>
const keyColumns = {
  id: apiKeys.id,
  organizationId: apiKeys.organizationId,
  // The keys of a deleted organization are valid again after its restoration.
  isActive: sql<boolean>`${apiKeys.isActive} and not exists (
    select from organizations o where o.id = ${apiKeys.organizationId} and o.deleting_at is not null)`,
  permissions: apiKeys.permissions,
  claims: apiKeys.claims,
  rotation: apiKeys.rotation,
  previousValidUntil: apiKeys.previousValidUntil,
  expiresAt: apiKeys.expiresAt,
  allowedNetworks: apiKeys.allowedNetworks,
}

/** Returns a look-up of a key by its possible fingerprints. An invalid key has an id and no principal. */
export const createKeyLookup = (db: Database, now: () => number) => {
  const fingerprints = sql`any(${sql.placeholder('fingerprints')}::text[])`
  const query = db
    .select({ ...keyColumns, isCurrent: sql<boolean>`${apiKeys.fingerprint} = ${fingerprints}` })
    .from(apiKeys)
    .where(sql`${apiKeys.fingerprint} = ${fingerprints} or ${apiKeys.previousFingerprint} = ${fingerprints}`)
    .prepare('key_by_fingerprint')
  return async (possible: readonly string[]): Promise<Found> => {
    const [row] = await query.execute({ fingerprints: [...possible] })
    if (row === undefined) return { ids: [], principal: undefined }
    return { ids: [row.id], principal: principalOfKey(row, row.isCurrent ? row.rotation : row.rotation - 1, now()) }
  }
}

/**
 * Returns the principal of a key string that the given rotation created. Returns undefined if the key is inactive or
 * expired, or if the string was replaced and its overlap has ended.
 */
const principalOfKey = (row: KeyRow, rotation: number, nowMs: number): Principal | undefined => {
  const replaced = rotation === row.rotation - 1 ? row.previousValidUntil?.getTime() : undefined
  if (!row.isActive || (rotation !== row.rotation && replaced === undefined)) return undefined
  const ends = [row.expiresAt?.getTime(), replaced].filter((each) => each !== undefined)
  const expiresAtMs = ends.length === 0 ? undefined : Math.min(...ends)
  if (expiresAtMs !== undefined && expiresAtMs <= nowMs) return undefined
  const claims = Object.entries(row.claims).flatMap(([claim, granted]) => (granted ? [claim] : []))
  const isBot = claims.includes('bot')
  return withDefined({
    kind: 'key' as const,
    id: row.id,
    bucket: `${row.organizationId} key ${row.id}`,
    organizationId: row.organizationId,
    // A bot's key can only read worlds, whatever its other claims are.
    permissions: isBot ? permissionsOfBot(row.permissions) : row.permissions,
    claims: isBot ? ['bot'] : claims,
    expiresAtMs,
    allowedNetworks: row.allowedNetworks ?? undefined,
    rotation,
  })
}

/**
 * Returns a reader of the current state of principals, in the given order. An invalid credential yields undefined.
 * `platformKeyIds` are the ids of the configured platform keys.
 */
export const createCredentialReader =
  (db: Database, now: () => number, platformKeyIds: ReadonlySet<string>) =>
  async (principals: readonly Principal[]): Promise<(Principal | undefined)[]> => {
    const keys = principals.filter(({ kind }) => kind === 'key')
    const tokens = principals.flatMap(({ token }) => token ?? [])
    const organizationIds = principals.flatMap(({ external, organizationId }) =>
      external && organizationId ? [organizationId] : [],
    )
    const [keyRows, minters, mappings] = await Promise.all([
      readKeyRows(db, keys),
      readMinters(db, tokens, platformKeyIds),
      readGroupMappings(db, organizationIds),
    ])
    return principals.map((principal) => {
      const { kind, token, external, organizationId = '', rotation = 0 } = principal
      if (kind === 'key') {
        const row = keyRows.get(principal.id)
        return row && principalOfKey(row, rotation, now())
      }
      if (external !== undefined) {
        const own = mappings.get(organizationId)
        return own && { ...principal, permissions: permissionsOfExternal(organizationId, external, own) }
      }
      if (token === undefined) return principal
      const minter = minters.get(token.id)
      const maker = minter === 'platform' ? platform : minter && principalOfKey(minter, minter.rotation, now())
      return maker && principalOfToken(principal, token, maker)
    })
  }

/** Reduces a token to what the key that minted it holds now: its permissions, and its expiry if that is earlier. */
const principalOfToken = (principal: Principal, token: IssuedToken, maker: Principal): Principal => ({
  ...principal,
  permissions: token.permissions.filter((each) => mayGrant(maker.permissions, each)),
  expiresAtMs: Math.min(token.expiresAtMs, maker.expiresAtMs ?? Number.POSITIVE_INFINITY),
})

const readKeyRows = async (db: Database, keys: readonly Principal[]): Promise<Map<string, KeyRow>> => {
  if (keys.length === 0) return new Map()
  const ids = [...new Set(keys.map(({ id }) => id))]
  const rows = await db.select(keyColumns).from(apiKeys).where(inArray(apiKeys.id, ids))
  return new Map(rows.map((row) => [row.id, row]))
}

/** Returns the group mappings of organizations, by id. Deleted organizations are left out. */
const readGroupMappings = async (
  db: Database,
  ids: readonly string[],
): Promise<Map<string, readonly GroupMapping[]>> => {
  if (ids.length === 0) return new Map()
  const rows = await db
    .select({ id: organizations.id, groupMappings: organizations.groupMappings })
    .from(organizations)
    .where(and(inArray(organizations.id, [...new Set(ids)]), isNull(organizations.deletingAt)))
  return new Map(rows.map(({ id, groupMappings }) => [id, groupMappings]))
}

/**
 * Returns the keys that minted tokens, by token id. Revoked tokens, tokens of a retired signing key and those of a deleted
 * organization are left out.
 */
const readMinters = async (
  db: Database,
  tokens: readonly IssuedToken[],
  platformKeyIds: ReadonlySet<string>,
): Promise<Map<string, KeyRow | 'platform'>> => {
  if (tokens.length === 0) return new Map()
  const wanted = sql`jsonb_to_recordset(${JSON.stringify(tokens)}::text::jsonb)
    as t(id text, "keyId" text, "signingKeyId" text, "organizationId" text, "userId" text)`
  const rows = await db
    .select({ tokenId: sql<string>`t.id`, keyId: sql<string>`t."keyId"`, key: keyColumns })
    .from(wanted)
    .leftJoin(apiKeys, sql`${apiKeys.id} = t."keyId"`)
    .where(
      sql`exists (select from ${signingKeys} s where s.id = t."signingKeyId") and not exists (select from
        ${revokedTokens} r where r.organization_id = t."organizationId" and r.user_id = t."userId" and r.id = t.id)
        and exists (select from ${organizations} o where o.id = t."organizationId" and o.deleting_at is null)`,
    )
  return new Map(
    rows.flatMap(({ tokenId, keyId, key }): [string, KeyRow | 'platform'][] =>
      platformKeyIds.has(keyId) ? [[tokenId, 'platform']] : key === null ? [] : [[tokenId, key]],
    ),
  )
}

/** Returns the id of the first key in the caller's chain of keys, or null for the platform key. */
export const ancestorOf = async (tx: Transaction, { kind, id }: Principal): Promise<string | null> => {
  if (kind !== 'key') return null
  const [maker] = await tx.select({ ancestorId: apiKeys.ancestorId }).from(apiKeys).where(eq(apiKeys.id, id))
  return maker?.ancestorId ?? id
}

/** Adds a permission to an API key. Does nothing if no key has this id. */
export const grantToKey = async (tx: Transaction, keyId: string, permission: string, now: Date): Promise<void> => {
  const granted = JSON.stringify([permission])
  await tx
    .update(apiKeys)
    .set({ permissions: sql`${apiKeys.permissions} || ${granted}::jsonb`, updatedAt: now })
    .where(eq(apiKeys.id, keyId))
}
