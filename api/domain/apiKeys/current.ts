import { and, eq } from 'drizzle-orm'
import type { Context } from '#api/domain/access/context.ts'
import { optional } from '#api/platform/http/fields.ts'
import type { CurrentCredential } from './schema.ts'
import { apiKeys } from './table.ts'

/** Returns the kind of the request's credential, and what it may do now. No secret is part of it. */
export const getCurrentCredential = async ({ db, principal }: Context): Promise<CurrentCredential> => {
  const { kind, id, organizationId, permissions, claims, expiresAtMs } = principal
  if (kind === 'anonymous') throw new Error('The endpoint accepts requests without a credential.')
  const name = kind === 'key' && organizationId !== undefined ? await readName(db, { id, organizationId }) : undefined
  return {
    kind,
    id,
    ...optional('name', name),
    ...optional('organizationId', organizationId),
    permissions: [...permissions],
    claims: Object.fromEntries(claims.map((claim) => [claim, true])),
    ...optional('expiresAt', expiresAtMs === undefined ? undefined : new Date(expiresAtMs).toISOString()),
  }
}

const readName = async (
  db: Context['db'],
  { id, organizationId }: { id: string; organizationId: string },
): Promise<string | undefined> => {
  const [row] = await db
    .select({ name: apiKeys.displayName })
    .from(apiKeys)
    .where(and(eq(apiKeys.organizationId, organizationId), eq(apiKeys.id, id)))
  return row?.name
}
