import { desc, sql } from 'drizzle-orm'
import type { Context } from '#api/domain/access/context.ts'
import type { KeyStore } from '#api/domain/access/issuer.ts'
import { mayGrant } from '#api/domain/access/permissions.ts'
import type { Database } from '#api/platform/database/client.ts'
import { Problem } from '#api/platform/http/problem.ts'
import type { CreatedToken, CreateToken } from './schema.ts'
import { signingKeys } from './table.ts'

/** Makes a token of the built-in issuer for a user; it permits no more than the key that asks for it. */
export const createToken = async (
  ctx: Context,
  userId: string,
  { durationMinutes, permissions }: CreateToken,
): Promise<CreatedToken> => {
  const excess = permissions.filter((each) => !mayGrant(ctx.principal.permissions, each))
  if (excess.length > 0) throw new Problem('forbidden', `The credential does not hold ${excess.join(', ')} itself.`)
  const expiresAt = new Date(ctx.clock.now() + durationMinutes * 60_000)
  const accessToken = await ctx.issuer.sign({ userId, organizationId: ctx.organizationId, permissions, expiresAt })
  return { accessToken, tokenType: 'Bearer', expiresAt: expiresAt.toISOString() }
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
