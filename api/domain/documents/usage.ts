import { eq, sql } from 'drizzle-orm'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { documentCounts } from './table.ts'

/** The documents of an organization and the bytes of their data as Postgres stores it, compressed. */
export type DocumentUsage = {
  readonly documents: number
  readonly bytes: number
  /** The rows of deleted documents: those of the last day, and the content that a restore needs. */
  readonly keptRows: number
  readonly keptBytes: number
}

/** Returns the counts of an organization's documents. Triggers keep them in the transaction of each change. */
export const readDocumentUsage = async (db: Database | Transaction, organizationId: string): Promise<DocumentUsage> => {
  const [usage] = await db
    .select({
      documents: sumOf(documentCounts.documents),
      bytes: sumOf(documentCounts.bytes),
      keptRows: sumOf(documentCounts.keptRows),
      keptBytes: sumOf(documentCounts.keptBytes),
    })
    .from(documentCounts)
    .where(eq(documentCounts.organizationId, organizationId))
    .execute()
  return usage ?? { documents: 0, bytes: 0, keptRows: 0, keptBytes: 0 }
}

const sumOf = (column: (typeof documentCounts)[keyof DocumentUsage]) => sql<number>`coalesce(sum(${column}), 0)::float8`
