import { and, eq, getTableColumns } from 'drizzle-orm'
import type { knownClaims } from '#api/domain/access/claims.ts'
import type { Context } from '#api/domain/access/context.ts'
import { lockLimits } from '#api/domain/organizations/organizations.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { listOrder, whereAfterCursor } from '#api/platform/database/page.ts'
import { type PageReader, readPage } from '#api/platform/database/readPage.ts'
import { optional } from '#api/platform/http/fields.ts'
import { isWithinNetworks } from '#api/platform/http/networks.ts'
import { type Paged, toPage, toPaged } from '#api/platform/http/page.ts'
import { found, Problem } from '#api/platform/http/problem.ts'
import { createOnce } from '#api/platform/idempotency/once.ts'
import { fingerprintOf, maskedApiKey, newApiKey } from '#api/platform/secrets/apiKey.ts'
import { mayGrant, pathOf, strongestVerb } from '#shared/domain/permissions.ts'
import type { ApiKeyAnswer, ApiKeysQuery, CreateApiKey, PatchApiKey, RotateApiKey, RotatedApiKey } from './schema.ts'
import { type ApiKeyRow, apiKeys } from './table.ts'

const forget = (ctx: Context, apiKeyId: string): void => {
  ctx.keys.forget(apiKeyId)
  ctx.tokens.forget(apiKeyId)
}

const newStringColumns = (ctx: Context, apiKey: string, ids: Pick<ApiKeyRow, 'id' | 'organizationId'>) => ({
  fingerprint: fingerprintOf(apiKey, ctx.peppers[0]),
  sealed: ctx.sealer.seal(apiKey, apiKeyContext(ids)),
})

const toColumns = <T extends PatchApiKey>({ expiresAt, ...changes }: T) => ({
  ...changes,
  ...(expiresAt === undefined ? {} : { expiresAt: expiresAt === null ? null : new Date(expiresAt) }),
})

const refuseStronger = (ctx: Context, row: ApiKeyRow): void => {
  if (holdsAllOf(ctx, row)) return
  throw new Problem(
    'forbidden',
    'The key has permissions or claims that the credential lacks, or is valid for longer or in more networks. The credential may only deactivate or delete it.',
  )
}

/** Returns the context to which a sealed key string is bound. */
export const apiKeyContext = ({ id, organizationId }: Pick<ApiKeyRow, 'id' | 'organizationId'>): string =>
  `api-key/${organizationId}/${id}`

/** Creates an API key with at most the permissions of the caller. Returns the key string. */
export const createApiKey = async (ctx: Context, input: CreateApiKey): Promise<{ apiKey: string }> => {
  refuseEscalation(ctx, input)
  refuseWiderBounds(ctx, input)
  const answer = await createOnce(ctx, async (tx, now) => {
    await refuseTooMany(ctx, tx)
    const apiKey = newApiKey()
    const ids = { id: ctx.newId('apiKey'), organizationId: ctx.organizationId }
    await tx.insert(apiKeys).values({
      ...ids,
      ...toColumns(input),
      ...newStringColumns(ctx, apiKey, ids),
      ancestorId: await ctx.ancestorOf(tx, ctx.principal),
      createdAt: now,
      updatedAt: now,
    })
    return { apiKey }
  })
  await recordReplay(ctx, answer)
  return answer
}

/** Records that a replayed response shows a key string again. The record of the first response is that of the change. */
const recordReplay = async (ctx: Context, { apiKey }: { apiKey: string }): Promise<void> => {
  if (!ctx.idempotency?.replayed) return
  const shown = await ctx.db
    .select({ id: apiKeys.id })
    .from(apiKeys)
    .where(
      and(
        eq(apiKeys.organizationId, ctx.organizationId),
        eq(apiKeys.fingerprint, fingerprintOf(apiKey, ctx.peppers[0])),
      ),
    )
  await ctx.recordAudit({ action: 'readApiKeyStrings', resources: shown.map(({ id }) => id), fields: [] })
}

/**
 * Returns a page of the organization's API keys, oldest first. An organization has one page with key strings at a time, since decrypting
 * them takes long.
 */
export const listApiKeys = (ctx: Context, query: ApiKeysQuery): Promise<Paged<ApiKeyAnswer>> => {
  const isMasked = query.keyStrings === 'masked'
  const list = async (reader: PageReader): Promise<Paged<ApiKeyAnswer>> => {
    const page = toPage(query)
    const read = await readPage(reader, getTableColumns(apiKeys), {
      from: apiKeys,
      where: and(eq(apiKeys.organizationId, ctx.organizationId), whereAfterCursor(apiKeys, page)),
      orderBy: listOrder(apiKeys),
      limit: page.limit,
    })
    const { items, ...next } = toPaged(read)
    return { ...next, items: await presentAll(ctx, items, { isMasked }) }
  }
  if (isMasked) return list(ctx)
  // A large page has its turn already.
  return ctx.runLargeRead(ctx.organizationId, () =>
    list({ db: ctx.db, lease: ctx.lease, runLargeRead: (_, read) => read() }),
  )
}

/**
 * Changes an API key. Omitted fields stay unchanged. Deactivating needs only `*` on the organization. Any other change
 * needs all permissions of the key: a weaker caller could otherwise restore a revoked key, or remove permissions from a
 * stronger key until its string is shown.
 */
export const patchApiKey = async (ctx: Context, apiKeyId: string, changes: PatchApiKey): Promise<ApiKeyAnswer> => {
  refuseEscalation(ctx, changes)
  const row = await ctx.db.transaction(async (tx) => {
    const before = await lockForChange(ctx, tx, apiKeyId)
    if (!isDeactivation(changes)) {
      refuseStronger(ctx, before)
      refuseWiderBounds(ctx, { ...before, ...changes })
    }
    const columns = { ...toColumns(changes), updatedAt: new Date(ctx.clock.now()) }
    const [changed] = await tx.update(apiKeys).set(columns).where(whereKey(ctx, apiKeyId)).returning()
    return changed
  })
  forget(ctx, apiKeyId)
  const answer = found(await presentAll(ctx, row === undefined ? [] : [row]))
  return answer
}

/**
 * Replaces the string of an API key. The old string stays valid for the overlap; the string before it becomes invalid at
 * once. Needs all permissions of the key, since the response contains the new string.
 */
export const rotateApiKey = async (
  ctx: Context,
  apiKeyId: string,
  { overlapSeconds }: RotateApiKey,
): Promise<RotatedApiKey> => {
  const answer = await createOnce(ctx, async (tx, now) => {
    const before = await lockForChange(ctx, tx, apiKeyId)
    refuseStronger(ctx, before)
    const apiKey = newApiKey()
    const previousValidUntil = new Date(now.getTime() + overlapSeconds * 1_000)
    await tx
      .update(apiKeys)
      .set({
        ...newStringColumns(ctx, apiKey, before),
        rotation: before.rotation + 1,
        previousFingerprint: before.fingerprint,
        previousValidUntil,
        updatedAt: now,
      })
      .where(whereKey(ctx, apiKeyId))
    return { apiKey, previousValidUntil: previousValidUntil.toISOString() }
  })
  ctx.keys.forget(apiKeyId)
  await recordReplay(ctx, answer)
  return answer
}

/** Deletes an API key. Every replica refuses it within half a second. */
export const deleteApiKey = async (ctx: Context, apiKeyId: string): Promise<void> => {
  await ctx.db.transaction(async (tx) => {
    await lockForChange(ctx, tx, apiKeyId)
    await tx.delete(apiKeys).where(whereKey(ctx, apiKeyId))
  })
  forget(ctx, apiKeyId)
}

/** Reports whether the organization of the headers has an API key with this id. */
export const apiKeyExists = async (ctx: Context, apiKeyId: string): Promise<boolean> =>
  (await ctx.db.select({ id: apiKeys.id }).from(apiKeys).where(whereKey(ctx, apiKeyId))).length > 0

const whereKey = (ctx: Context, apiKeyId: string) =>
  and(eq(apiKeys.organizationId, ctx.organizationId), eq(apiKeys.id, apiKeyId))

const lockForChange = async (ctx: Context, tx: Transaction, apiKeyId: string): Promise<ApiKeyRow> => {
  const row = found(await tx.select().from(apiKeys).where(whereKey(ctx, apiKeyId)).for('update'))
  if (row.isManagedByProvisioner)
    throw new Problem('forbidden', 'The provisioner manages this key, so the API does not change it. Use another key.')
  return row
}

const refuseTooMany = async (ctx: Context, tx: Transaction): Promise<void> => {
  const { maxApiKeys } = await lockLimits(ctx, tx)
  if ((await tx.$count(apiKeys, eq(apiKeys.organizationId, ctx.organizationId))) < maxApiKeys) return
  const detail = `The organization has ${maxApiKeys} API keys, which is its limit (maxApiKeys). Delete a key first.`
  throw new Problem('limit_reached', detail)
}

/** The claims that only a caller with the claim may grant. Every caller that manages keys may grant the others. */
const restrictedClaims: readonly string[] = [
  'createOrganization',
  'largeWorlds',
] satisfies (typeof knownClaims)[number][]

type Bounds = {
  readonly expiresAt?: string | Date | null | undefined
  readonly allowedNetworks?: readonly string[] | null | undefined
}

/**
 * Returns a sentence if a key would be valid for longer, or in other networks, than the caller.
 */
const findWiderBound = ({ principal }: Context, { expiresAt, allowedNetworks }: Bounds): string | undefined => {
  const { expiresAtMs, allowedNetworks: own } = principal
  if (expiresAtMs !== undefined && (expiresAt == null || new Date(expiresAt).getTime() > expiresAtMs))
    return 'The credential expires, and the key would be valid for longer. Set an earlier expiresAt.'
  if (own !== undefined && (allowedNetworks == null || !allowedNetworks.every((each) => isWithinNetworks(each, own))))
    return 'The credential is valid in some networks only, and the key would be valid in others. Set allowedNetworks.'
  return undefined
}

const refuseWiderBounds = (ctx: Context, bounds: Bounds): void => {
  const why = findWiderBound(ctx, bounds)
  if (why !== undefined) throw new Problem('forbidden', why)
}

const refuseEscalation = (ctx: Context, { permissions = [], claims = {} }: PatchApiKey): void => {
  const excess = permissions.filter((each) => !mayGrant(ctx.principal.permissions, each))
  if (excess.length > 0)
    throw new Problem('forbidden', `The credential cannot grant permissions that it lacks: ${excess.join(', ')}.`)
  const lacking = grantedClaims(claims).filter(
    (each) => restrictedClaims.includes(each) && !ctx.principal.claims.includes(each),
  )
  if (lacking.length > 0)
    throw new Problem('forbidden', `The credential cannot grant claims that it lacks: ${lacking.join(', ')}.`)
}

const grantedClaims = (claims: Record<string, boolean>): string[] =>
  Object.entries(claims).flatMap(([claim, granted]) => (granted ? [claim] : []))

/** Reports whether a change only deactivates the key. */
const isDeactivation = ({ isActive, ...others }: PatchApiKey): boolean =>
  isActive !== true && Object.keys(others).length === 0

/** Reports whether the caller could create the same key: it has its permissions and claims, and no narrower bounds. */
const holdsAllOf = (ctx: Context, row: ApiKeyRow): boolean =>
  row.permissions.every((each) => mayGrant(ctx.principal.permissions, each)) &&
  grantedClaims(row.claims).every((each) => !restrictedClaims.includes(each) || ctx.principal.claims.includes(each)) &&
  findWiderBound(ctx, row) === undefined

/** The keys whose strings are decrypted at once, which takes a millisecond. */
const keysPerSlice = 16
/** The most keys that an audit record names. If there are more, it names only the first and the last. */
const maxNamedKeys = 32

/**
 * Converts rows to responses. Other requests have turns in between. Key strings are shown to callers that manage keys and could
 * have created the same key, since reading a stronger key would give its permissions to the caller. Each reading leaves an audit
 * record. With `isMasked`, no string is shown.
 */
const presentAll = async (
  ctx: Context,
  rows: readonly ApiKeyRow[],
  { isMasked = false } = {},
): Promise<ApiKeyAnswer[]> => {
  const mayShow = !isMasked && strongestVerb(ctx.principal.permissions, pathOf(ctx.organizationId)) === '*'
  const nowMs = ctx.clock.now()
  const shown: string[] = []
  const presentRow = (row: ApiKeyRow): ApiKeyAnswer => {
    if (!mayShow || !holdsAllOf(ctx, row)) return present(row, { nowMs, keyString: maskedApiKey })
    shown.push(row.id)
    return present(row, { nowMs, keyString: ctx.sealer.open(row.sealed, apiKeyContext(row)) })
  }
  const answers: ApiKeyAnswer[] = []
  for (let at = 0; at < rows.length; at += keysPerSlice) {
    if (at > 0) await new Promise((resolve) => setImmediate(resolve))
    answers.push(...rows.slice(at, at + keysPerSlice).map(presentRow))
  }
  const resources = shown.length <= maxNamedKeys ? shown : [...shown.slice(0, 1), ...shown.slice(-1)]
  if (shown.length > 0) await ctx.recordAudit({ action: 'readApiKeyStrings', resources, fields: [] })
  return answers
}

const present = (row: ApiKeyRow, { nowMs, keyString }: { nowMs: number; keyString: string }): ApiKeyAnswer => ({
  documentId: row.id,
  displayName: row.displayName,
  isActive: row.isActive,
  isManagedByProvisioner: row.isManagedByProvisioner,
  organizationId: row.organizationId,
  claims: row.claims,
  permissions: row.permissions,
  keyString,
  ...optional('expiresAt', row.expiresAt?.toISOString()),
  ...optional('lastUsedAt', row.lastUsedAt?.toISOString()),
  ...optional('previousValidUntil', laterThan(nowMs, row.previousValidUntil)?.toISOString()),
  ...optional('allowedNetworks', row.allowedNetworks),
})

const laterThan = (nowMs: number, at: Date | null): Date | undefined =>
  at !== null && at.getTime() > nowMs ? at : undefined
