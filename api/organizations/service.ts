import type { Context } from '#api/context.ts'
import { Problem } from '#api/errors.ts'
import type { CreateOrganization, Features } from './schema.ts'
import { organizations } from './table.ts'

/** Makes an organization: for the platform key, and for keys with the claim createOrganization. */
export const createOrganization = async (
  ctx: Context,
  input: CreateOrganization,
): Promise<{ organizationId: string; features: Features }> => {
  if (!ctx.principal.permissions.includes('*') && !ctx.principal.claims.includes('createOrganization')) {
    throw new Problem('forbidden', 'This needs the claim createOrganization.')
  }
  const id = ctx.newId('organization')
  const now = new Date(ctx.clock.now())
  const { features = {}, ...rest } = input
  await ctx.db.insert(organizations).values({ id, tenantId: id, ...rest, features, createdAt: now, updatedAt: now })
  return { organizationId: id, features }
}
