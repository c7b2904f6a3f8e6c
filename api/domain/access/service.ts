import { and, desc, eq, inArray, isNull, sql } from 'drizzle-orm'
import { type ApiKeyRow, apiKeys, revokedTokens, signingKeys } from '#api/domain/apiKeys/table.ts'
import type { Depth } from '#api/domain/endpoint/endpoint.ts'
import type { Found } from '#api/platform/auth/freshCache.ts'
import type { KeyStore } from '#api/platform/auth/issuer.ts'
import { type IssuedToken, type Principal, permissionsOfBot, platform } from '#api/platform/auth/principal.ts'
import type { Database } from '#api/platform/database/client.ts'
import { organizations, projects, worlds } from '#api/schema.ts'
import { withDefined } from '#shared/optional.ts'
import type { ScopeIds } from './context.ts'
import { mayGrant } from './permissions.ts'

/** What both the database and a transaction of it can do. */
type Reader = Pick<Database, 'select'>

const organizationId = sql.placeholder('organizationId')
const projectId = sql.placeholder('projectId')
const worldId = sql.placeholder('worldId')
const inProject = and(eq(projects.organizationId, organizationId), eq(projects.id, projectId))
const inWorld = and(
  eq(worlds.organizationId, organizationId),
  eq(worlds.projectId, projectId),
  eq(worlds.id, worldId),
  isNull(worlds.deletingAt),
)
const scopeQueries = {
  organization: (db: Reader) =>
    db
      .select({ id: organizations.id })
      .from(organizations)
      .where(eq(organizations.id, organizationId))
      .prepare('scope_organization'),
  project: (db: Reader) =>
    db
      .select({ id: projects.id })
      .from(projects)
      .where(and(inProject, isNull(projects.deletingAt)))
      .prepare('scope_project'),
  world: (db: Reader) => db.select({ id: worlds.id }).from(worlds).where(inWorld).prepare('scope_world'),
}

/** Looks whether the whole chain of ids exists and belongs together; what is being deleted does not exist. */
export const createScopeLookup = (db: Reader) => {
  const queries = {
    organization: scopeQueries.organization(db),
    project: scopeQueries.project(db),
    world: scopeQueries.world(db),
  }
  return async (depth: Depth, ids: ScopeIds): Promise<boolean> => (await queries[depth].execute({ ...ids })).length > 0
}

/** The same look in a transaction. */
export const scopeExistsIn = async (tx: Reader, depth: Depth, ids: ScopeIds): Promise<boolean> =>
  (await scopeQueries[depth](tx).execute({ ...ids })).length > 0

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
  isActive: apiKeys.isActive,
  permissions: apiKeys.permissions,
  claims: apiKeys.claims,
  rotation: apiKeys.rotation,
  previousValidUntil: apiKeys.previousValidUntil,
  expiresAt: apiKeys.expiresAt,
  allowedNetworks: apiKeys.allowedNetworks,
}

/** Returns a look-up of keys by their possible fingerprints. An invalid key is found without a principal. */
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
 * Returns the principal of a key string, by the row of the key and the rotation that made the string; undefined where
 * the key is inactive or expired, or where the overlap of its rotation is over.
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
    // A bot's key has no other ability, whatever claims it was given.
    permissions: isBot ? permissionsOfBot(row.permissions) : row.permissions,
    claims: isBot ? ['bot'] : claims,
    expiresAtMs,
    allowedNetworks: row.allowedNetworks ?? undefined,
    rotation,
  })
}

/** Reads keys and tokens again. Each principal as it is now, in the order given; undefined is not valid any more. */
export const createCredentialReader =
  (db: Database, now: () => number) =>
  async (principals: readonly Principal[]): Promise<(Principal | undefined)[]> => {
    const keys = principals.filter(({ kind }) => kind === 'key')
    const tokens = principals.flatMap(({ token }) => token ?? [])
    const [keyRows, minters] = await Promise.all([readKeyRows(db, keys), readMinters(db, tokens)])
    return principals.map((principal) => {
      const { kind, token, rotation = 0 } = principal
      if (kind === 'key') {
        const row = keyRows.get(principal.id)
        return row && principalOfKey(row, rotation, now())
      }
      if (token === undefined) return principal
      const minter = minters.get(token.id)
      const maker = minter === 'platform' ? platform : minter && principalOfKey(minter, minter.rotation, now())
      return (
        maker && { ...principal, permissions: token.permissions.filter((each) => mayGrant(maker.permissions, each)) }
      )
    })
  }

const readKeyRows = async (db: Database, keys: readonly Principal[]): Promise<Map<string, KeyRow>> => {
  if (keys.length === 0) return new Map()
  const ids = [...new Set(keys.map(({ id }) => id))]
  const rows = await db.select(keyColumns).from(apiKeys).where(inArray(apiKeys.id, ids))
  return new Map(rows.map((row) => [row.id, row]))
}

/** Reads the keys that minted tokens, by the ids of the tokens. A revoked token, and one of a retired signing key, has none. */
const readMinters = async (db: Database, tokens: readonly IssuedToken[]): Promise<Map<string, KeyRow | 'platform'>> => {
  if (tokens.length === 0) return new Map()
  const wanted = sql`jsonb_to_recordset(${JSON.stringify(tokens)}::text::jsonb)
    as t(id text, "keyId" text, "signingKeyId" text, "organizationId" text, "userId" text)`
  const rows = await db
    .select({ tokenId: sql<string>`t.id`, keyId: sql<string>`t."keyId"`, key: keyColumns })
    .from(wanted)
    .leftJoin(apiKeys, sql`${apiKeys.id} = t."keyId"`)
    .where(
      sql`exists (select from ${signingKeys} s where s.id = t."signingKeyId") and not exists (select from
        ${revokedTokens} r where r.organization_id = t."organizationId" and r.user_id = t."userId" and r.id = t.id)`,
    )
  return new Map(
    rows.flatMap(({ tokenId, keyId, key }): [string, KeyRow | 'platform'][] =>
      keyId === platform.id ? [[tokenId, 'platform']] : key === null ? [] : [[tokenId, key]],
    ),
  )
}

/** The table of signing keys, the newest first. */
export const createKeyStore = (db: Database, now: () => number): KeyStore => ({
  list: () => db.select().from(signingKeys).orderBy(desc(signingKeys.generation)),
  add: async (key) => {
    const next = sql`(select coalesce(max(${signingKeys.generation}), 0) + 1 from ${signingKeys})`
    await db
      .insert(signingKeys)
      .values({ ...key, generation: next, createdAt: new Date(now()) })
      .onConflictDoNothing()
  },
})
