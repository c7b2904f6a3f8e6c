import { eq } from 'drizzle-orm'
import { organizations } from '#api/domain/organizations/table.ts'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { type OrganizationState, organizationOf } from '#api/sync/rows/identity.ts'

/** Returns the state of the organization that a namespace belongs to. A namespace of another name has an unknown one. */
export const readOwner = async (
  db: Database | Transaction,
  namespacePrefix: string,
  namespace: string | undefined,
): Promise<OrganizationState> => {
  const id = organizationOf(namespacePrefix, namespace)
  if (id === undefined) return 'unknown'
  const [row] = await db
    .select({ deletingAt: organizations.deletingAt })
    .from(organizations)
    .where(eq(organizations.id, id))
  if (row === undefined) return 'unknown'
  return row.deletingAt === null ? 'living' : 'deleted'
}
