import { desc, eq, lt, sql } from 'drizzle-orm'
import type { Context } from '#api/domain/access/context.ts'
import type { KeyStore } from '#api/domain/access/issuer.ts'
import { clockToleranceSeconds } from '#api/domain/access/token.ts'
import { organizations } from '#api/domain/organizations/table.ts'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { Problem } from '#api/platform/http/problem.ts'
import { mayGrant } from '#shared/domain/permissions.ts'
import { type CreatedToken, type CreateToken, maxTokenMinutes } from './schema.ts'
import { revokedTokens, signingKeys } from './table.ts'

const maxTokenMs = maxTokenMinutes * 60_000

/** The maximum number of unexpired revocations of an organization. */
const maxRevoked = 10_000

/**
 * Creates a token of the built-in issuer for a user, with at most the permissions of the caller. It expires no later than the
 * caller's credential.
 */
export const createToken = async (
  ctx: Context,
  userId: string,
  { durationMinutes, permissions }: CreateToken,
): Promise<CreatedToken> => {
  const excess = permissions.filter((each) => !mayGrant(ctx.principal.permissions, each))
  if (excess.length > 0)
    throw new Problem('forbidden', `The credential cannot grant permissions that it lacks: ${excess.join(', ')}.`)
  const { organizationId, principal } = ctx
  const requestedMs = ctx.clock.now() + durationMinutes * 60_000
  const expiresAt = new Date(Math.min(requestedMs, principal.expiresAtMs ?? Number.POSITIVE_INFINITY))
  const tokenId = ctx.newId('token')
  const keyId = principal.platformKeyId ?? principal.id
  const accessToken = await ctx.issuer.sign({ id: tokenId, keyId, userId, organizationId, permissions, expiresAt })
  await ctx.recordAudit()
  return { tokenId, accessToken, tokenType: 'Bearer', expiresAt: expiresAt.toISOString() }
}

/**
 * Revokes a token of a user. Within a second, every replica refuses it and closes its realtime connections. An unknown id
 * is accepted, since minted tokens are not recorded.
 */
export const revokeToken = async (ctx: Context, userId: string, tokenId: string): Promise<void> => {
  const { organizationId } = ctx
  // Every existing token has expired by then, even on a replica with a slow clock.
  const expiresAt = new Date(ctx.clock.now() + maxTokenMs + 2 * clockToleranceSeconds * 1_000)
  await ctx.db.transaction(async (tx) => {
    await tx
      .select({ id: organizations.id })
      .from(organizations)
      .where(eq(organizations.id, organizationId))
      .for('no key update')
    const revoked = await tx.$count(revokedTokens, eq(revokedTokens.organizationId, organizationId))
    if (revoked >= maxRevoked) {
      throw new Problem(
        'limit_reached',
        `The organization has ${maxRevoked} revoked tokens, which is the limit. Deactivate the key that minted them.`,
      )
    }
    await tx.insert(revokedTokens).values({ organizationId, userId, id: tokenId, expiresAt }).onConflictDoNothing()
  })
  ctx.tokens.forget(tokenId)
}

/** Deletes the revocations of expired tokens. */
export const deleteExpiredRevocations = async (db: Database, nowMs: number): Promise<void> => {
  await db.delete(revokedTokens).where(lt(revokedTokens.expiresAt, new Date(nowMs)))
}

/** Returns the store of signing keys in the database. */
export const createKeyStore = (db: Database | Transaction, now: () => number): KeyStore => ({
  list: () => db.select().from(signingKeys).orderBy(desc(signingKeys.generation)),
  add: async (key) => {
    const next = sql`(select coalesce(max(${signingKeys.generation}), 0) + 1 from ${signingKeys})`
    await db
      .insert(signingKeys)
      .values({ ...key, generation: next, createdAt: new Date(now()) })
      .onConflictDoNothing()
  },
})
