import { count, eq, isNull, sql } from 'drizzle-orm'
import type { Deps } from '#api/domain/access/context.ts'
import type { DocumentCounts, DocumentUsage } from '#api/domain/access/limits.ts'
import { documents, keptDocuments } from '../table.ts'

/** The age at which a count is read again. In between, each replica adds its own writes. */
const freshMs = 10_000
const maxEntries = 10_000

type Entry = { usage: DocumentUsage; readAtMs: number }

/** Counts the documents of an organization, and the rows of deleted ones. */
export const readDocumentUsage = async (db: Deps['db'], organizationId: string): Promise<DocumentUsage> => {
  const isPresent = isNull(documents.deletedAt)
  const [[row], [kept]] = await Promise.all([
    db
      .select({
        documents: sql<number>`(count(*) filter (where ${isPresent}))::int`,
        bytes: sql<string>`coalesce(sum(pg_column_size(${documents.data})) filter (where ${isPresent}), 0)`,
        deleted: sql<number>`(count(*) filter (where not ${isPresent}))::int`,
      })
      .from(documents)
      .where(eq(documents.organizationId, organizationId)),
    db
      .select({ rows: count(), bytes: sql<string>`coalesce(sum(pg_column_size(${keptDocuments.data})), 0)` })
      .from(keptDocuments)
      .where(eq(keptDocuments.organizationId, organizationId)),
  ])
  return {
    documents: row?.documents ?? 0,
    bytes: Number(row?.bytes ?? 0),
    keptRows: (row?.deleted ?? 0) + (kept?.rows ?? 0),
    keptBytes: Number(kept?.bytes ?? 0),
  }
}

/**
 * Creates cached counts of documents by organization, so that a write needs no query. Each is read at most every 10 s. A limit
 * that is checked against them can be exceeded by the writes of other replicas since then.
 */
export const createDocumentCounts = ({ db, clock, log }: Pick<Deps, 'db' | 'clock' | 'log'>): DocumentCounts => {
  const entries = new Map<string, Entry>()
  const reads = new Map<string, Promise<DocumentUsage>>()
  /** Reads a count. Concurrent calls for one organization share a query. */
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
      const { usage } = known
      known.usage = {
        documents: usage.documents + change.documents,
        bytes: usage.bytes + change.bytes,
        keptRows: usage.keptRows + change.keptRows,
        keptBytes: usage.keptBytes + change.keptBytes,
      }
    },
  }
}
