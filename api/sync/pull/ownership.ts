import { eq } from 'drizzle-orm'
import { organizations } from '#api/domain/organizations/table.ts'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { organizationOf } from '#api/sync/rows/identity.ts'

/** Reports whether a namespace belongs to an organization of this database. Another API may own others. */
export const ownsNamespace = async (
  db: Database | Transaction,
  namespacePrefix: string,
  namespace: string | undefined,
): Promise<boolean> => {
  const id = organizationOf(namespacePrefix, namespace)
  if (id === undefined) return false
  const rows = await db.select({ id: organizations.id }).from(organizations).where(eq(organizations.id, id))
  return rows.length > 0
}
