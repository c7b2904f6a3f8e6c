import { and, count, eq } from 'drizzle-orm'
import { pathOf } from '#api/domain/access/authorise.ts'
import type { knownClaims } from '#api/domain/access/claims.ts'
import type { Context } from '#api/domain/access/context.ts'
import { mayGrant, strongestVerb } from '#api/domain/access/permissions.ts'
import { lockLimits } from '#api/domain/organizations/service.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { listOrder, whereAfterCursor } from '#api/platform/database/page.ts'
import { optional } from '#api/platform/http/fields.ts'
import { type Page, type Paged, toPaged } from '#api/platform/http/page.ts'
import { notFound, Problem } from '#api/platform/http/problem.ts'
import { createOnce } from '#api/platform/idempotency/service.ts'
import { fingerprintOf, maskedApiKey, newApiKey } from '#api/platform/secrets/apiKey.ts'
import type { ApiKeyAnswer, CreateApiKey, PatchApiKey, RotateApiKey, RotatedApiKey } from './schema.ts'
import { type ApiKeyRow, apiKeys } from './table.ts'

const forget = (ctx: Context, apiKeyId: string): void => {
  ctx.keys.forget(apiKeyId)
  ctx.tokens.forget(apiKeyId)
}

const newString = (ctx: Context, apiKey: string, ids: Pick<ApiKeyRow, 'id' | 'organizationId'>) => ({
  fingerprint: fingerprintOf(apiKey, ctx.peppers[0]),
  sealed: ctx.sealer.seal(apiKey, aboutKey(ids)),
})

const toColumns = <T extends PatchApiKey>({ expiresAt, ...changes }: T) => ({
  ...changes,
  ...(expiresAt === undefined ? {} : { expiresAt: expiresAt === null ? null : new Date(expiresAt) }),
})

const refuseStronger = (ctx: Context, row: ApiKeyRow): void => {
  if (holdsAllOf(ctx, row)) return
  throw new Problem('forbidden', 'This key holds more than the credential, which may only deactivate or delete it.')
}

/** What a key's sealed text is bound to. */
export const aboutKey = ({ id, organizationId }: Pick<ApiKeyRow, 'id' | 'organizationId'>): string =>
  `api-key/${organizationId}/${id}`

/** Makes a key that grants no more than its maker holds. The key itself is in the answer. */
export const createApiKey = async (ctx: Context, input: CreateApiKey): Promise<{ apiKey: string }> => {
  refuseEscalation(ctx, input)
  return createOnce(ctx, async (tx, now) => {
    await refuseTooMany(ctx, tx)
    const apiKey = newApiKey()
    const ids = { id: ctx.newId('apiKey'), organizationId: ctx.organizationId }
    await tx.insert(apiKeys).values({
      ...ids,
      ...toColumns(input),
      ...newString(ctx, apiKey, ids),
      ancestorId: await ctx.ancestorOf(tx, ctx.principal),
      createdAt: now,
      updatedAt: now,
    })
    return { apiKey }
  })
}

/** Lists the keys of the organization, oldest first. */
export const listApiKeys = async (ctx: Context, page: Page): Promise<Paged<ApiKeyAnswer>> => {
  const rows = await ctx.db
    .select()
    .from(apiKeys)
    .where(and(eq(apiKeys.organizationId, ctx.organizationId), whereAfterCursor(apiKeys, page)))
    .orderBy(...listOrder(apiKeys))
    .limit(page.limit + 1)
  const { items, ...next } = toPaged(rows, page)
  return { ...next, items: presentAll(ctx, items) }
}

/**
 * Changes a key; fields that are left out stay. Re-activating or changing a key needs everything that the key holds,
 * since a weaker caller could otherwise restore a revoked key, or strip a stronger one until its string is shown.
 * Deactivating needs only `*` on the organization.
 */
export const patchApiKey = async (ctx: Context, apiKeyId: string, changes: PatchApiKey): Promise<ApiKeyAnswer> => {
  refuseEscalation(ctx, changes)
  const row = await ctx.db.transaction(async (tx) => {
    const before = await changeable(ctx, tx, apiKeyId)
    if (!isDeactivation(changes)) refuseStronger(ctx, before)
    const columns = { ...toColumns(changes), updatedAt: new Date(ctx.clock.now()) }
    const [changed] = await tx.update(apiKeys).set(columns).where(whereKey(ctx, apiKeyId)).returning()
    return changed
  })
  forget(ctx, apiKeyId)
  const [answer] = presentAll(ctx, row === undefined ? [] : [row])
  if (answer === undefined) throw notFound()
  return answer
}

/**
 * Gives a key a new string. The string that it replaces stays valid for the overlap; a string that an earlier rotation
 * replaced ends at once. Needs everything that the key holds, since the answer shows the new string.
 */
export const rotateApiKey = async (
  ctx: Context,
  apiKeyId: string,
  { overlapSeconds }: RotateApiKey,
): Promise<RotatedApiKey> => {
  const answer = await createOnce(ctx, async (tx, now) => {
    const before = await changeable(ctx, tx, apiKeyId)
    refuseStronger(ctx, before)
    const apiKey = newApiKey()
    const previousValidUntil = new Date(now.getTime() + overlapSeconds * 1_000)
    await tx
      .update(apiKeys)
      .set({
        ...newString(ctx, apiKey, before),
        rotation: before.rotation + 1,
        previousFingerprint: before.fingerprint,
        previousValidUntil,
        updatedAt: now,
      })
      .where(whereKey(ctx, apiKeyId))
    return { apiKey, previousValidUntil: previousValidUntil.toISOString() }
  })
  ctx.keys.forget(apiKeyId)
  auditReading(ctx, [apiKeyId])
  return answer
}

/** Deletes a key: it fails from the next half second on, in every replica. */
export const deleteApiKey = async (ctx: Context, apiKeyId: string): Promise<void> => {
  await ctx.db.transaction(async (tx) => {
    await changeable(ctx, tx, apiKeyId)
    await tx.delete(apiKeys).where(whereKey(ctx, apiKeyId))
  })
  forget(ctx, apiKeyId)
}

/** Whether the organization of the headers has such a key. */
export const apiKeyExists = async (ctx: Context, apiKeyId: string): Promise<boolean> =>
  (await ctx.db.select({ id: apiKeys.id }).from(apiKeys).where(whereKey(ctx, apiKeyId))).length > 0

const whereKey = (ctx: Context, apiKeyId: string) =>
  and(eq(apiKeys.organizationId, ctx.organizationId), eq(apiKeys.id, apiKeyId))

const changeable = async (ctx: Context, tx: Transaction, apiKeyId: string): Promise<ApiKeyRow> => {
  const [row] = await tx.select().from(apiKeys).where(whereKey(ctx, apiKeyId)).for('update')
  if (row === undefined) throw notFound()
  if (row.isManagedByProvisioner) throw new Problem('forbidden', 'This key is managed by the provisioner.')
  return row
}

const refuseTooMany = async (ctx: Context, tx: Transaction): Promise<void> => {
  const { maxApiKeys } = await lockLimits(ctx, tx)
  const [found] = await tx.select({ keys: count() }).from(apiKeys).where(eq(apiKeys.organizationId, ctx.organizationId))
  if ((found?.keys ?? 0) >= maxApiKeys) {
    throw new Problem('limit_reached', `The organization has its ${maxApiKeys} API keys (maxApiKeys).`)
  }
}

/** The claims that a key may only get from one who has them; the others come with the right to manage keys. */
const handedOn: readonly string[] = ['createOrganization', 'largeWorlds'] satisfies (typeof knownClaims)[number][]

const refuseEscalation = (ctx: Context, { permissions = [], claims = {} }: PatchApiKey): void => {
  const excess = permissions.filter((each) => !mayGrant(ctx.principal.permissions, each))
  if (excess.length > 0) throw new Problem('forbidden', `The credential does not hold ${excess.join(', ')} itself.`)
  const lacking = grantedClaims(claims).filter(
    (each) => handedOn.includes(each) && !ctx.principal.claims.includes(each),
  )
  if (lacking.length > 0) throw new Problem('forbidden', `The credential has no claim ${lacking.join(', ')} itself.`)
}

const grantedClaims = (claims: Record<string, boolean>): string[] =>
  Object.entries(claims).flatMap(([claim, granted]) => (granted ? [claim] : []))

/** Reports whether a change does nothing but deactivate the key. */
const isDeactivation = ({ isActive, ...others }: PatchApiKey): boolean =>
  isActive !== true && Object.keys(others).length === 0

/** Reports whether the caller holds every permission and could grant every claim that a key holds. */
const holdsAllOf = ({ principal }: Context, { permissions, claims }: ApiKeyRow): boolean =>
  permissions.every((each) => mayGrant(principal.permissions, each)) &&
  grantedClaims(claims).every((each) => !handedOn.includes(each) || principal.claims.includes(each))

/**
 * A key string is shown to those who manage keys and could have made this very key: to read a stronger key would be
 * to become it.
 */
const presentAll = (ctx: Context, rows: readonly ApiKeyRow[]): ApiKeyAnswer[] => {
  const manages = strongestVerb(ctx.principal.permissions, pathOf(ctx.organizationId)) === '*'
  const shown = new Set(rows.filter((row) => manages && holdsAllOf(ctx, row)))
  auditReading(
    ctx,
    [...shown].map(({ id }) => id),
  )
  return rows.map((row) => present(row, shown.has(row) ? ctx.sealer.open(row.sealed, aboutKey(row)) : maskedApiKey))
}

/** Records who read the full strings of keys. */
const auditReading = ({ log, principal, organizationId }: Context, apiKeyIds: readonly string[]): void => {
  if (apiKeyIds.length === 0) return
  log.info({ audit: true, action: 'readKeyString', principal: principal.id, organizationId, apiKeyIds }, 'audit')
}

const present = (row: ApiKeyRow, keyString: string): ApiKeyAnswer => ({
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
  ...optional('allowedNetworks', row.allowedNetworks),
})
