import { and, eq, isNull, sql } from 'drizzle-orm'
import type { Deps } from '#api/domain/access/context.ts'
import type { DocumentCounts, DocumentUsage } from '#api/domain/access/limits.ts'
import { documents } from '../table.ts'

/** The age at which a count is read again. In between, each replica adds its own writes. */
const freshMs = 10_000
const maxEntries = 10_000

type Entry = { usage: DocumentUsage; readAtMs: number }

/** Counts the documents of an organization. */
export const readDocumentUsage = async (db: Deps['db'], organizationId: string): Promise<DocumentUsage> => {
  const [row] = await db
    .select({
      documents: sql<number>`count(*)::int`,
      bytes: sql<string>`coalesce(sum(pg_column_size(${documents.data})), 0)`,
    })
    .from(documents)
    .where(and(eq(documents.organizationId, organizationId), isNull(documents.deletedAt)))
  return { documents: row?.documents ?? 0, bytes: Number(row?.bytes ?? 0) }
}

/**
 * Counts of documents by organization that cost a write no query: each is read at most every 10 s. A limit that is
 * checked against them can be exceeded by what other replicas wrote since.
 */
export const createDocumentCounts = ({ db, clock, log }: Pick<Deps, 'db' | 'clock' | 'log'>): DocumentCounts => {
  const entries = new Map<string, Entry>()
  const reads = new Map<string, Promise<DocumentUsage>>()
  /** Reads once for all that ask at the same time. */
  const read = (organizationId: string): Promise<DocumentUsage> => {
    const running = reads.get(organizationId)
    if (running !== undefined) return running
    const started = readNow(organizationId).finally(() => reads.delete(organizationId))
    reads.set(organizationId, started)
    return started
  }
  const readNow = async (organizationId: string): Promise<DocumentUsage> => {
    const usage = await readDocumentUsage(db, organizationId)
    if (entries.size >= maxEntries) entries.delete(entries.keys().next().value ?? '')
    entries.set(organizationId, { usage, readAtMs: clock.monotonic() })
    return usage
  }
  return {
    /** Returns the count; only the first one of an organization waits for a query. */
    of: async (organizationId: string): Promise<DocumentUsage> => {
      const known = entries.get(organizationId)
      if (known === undefined) return read(organizationId)
      if (clock.monotonic() - known.readAtMs > freshMs) {
        known.readAtMs = clock.monotonic()
        read(organizationId).catch((error: unknown) =>
          log.warn({ organizationId, err: error }, 'the documents were not counted'),
        )
      }
      return known.usage
    },
    /** Adds what a write of this replica changed. */
    add: (organizationId: string, change: DocumentUsage): void => {
      const known = entries.get(organizationId)
      if (known === undefined) return
      const { documents: count, bytes } = known.usage
      known.usage = { documents: count + change.documents, bytes: bytes + change.bytes }
    },
  }
}
