import { count, getTableColumns, sql } from 'drizzle-orm'
import type { Database } from '#api/platform/database/client.ts'
import { listOrder, whereAfterCursor } from '#api/platform/database/page.ts'
import { type PageReader, readPage } from '#api/platform/database/readPage.ts'
import { type Page, type Paged, toPaged } from '#api/platform/http/page.ts'
import { clusterOutbox } from '#api/platform/outbox/table.ts'
import { kinds } from '#shared/resources/group.ts'
import { explainRefusal } from './explain.ts'
import type { SyncStatusAnswer } from './schema.ts'
import { clusterStates, type FindingRow, heldSweeps, syncFindings } from './table.ts'

/** Reads the state of the sync, with a page of findings. */
export const getSyncStatus = async (
  reader: PageReader,
  page: Page,
): Promise<Paged<FindingRow> & { readonly status: SyncStatusAnswer }> => {
  const { db } = reader
  const [states, sweeps, dirty, counts, found] = await Promise.all([
    db.select().from(clusterStates).orderBy(clusterStates.name),
    db.select().from(heldSweeps),
    readDirtyRowsByCluster(db),
    countFindings(db),
    readPage(reader, getTableColumns(syncFindings), {
      from: syncFindings,
      where: whereAfterCursor(syncFindings, page),
      orderBy: listOrder(syncFindings),
      limit: page.limit,
    }),
  ])
  const paged = toPaged(found)
  const total = (type: FindingRow['type']): number =>
    counts.reduce((sum, each) => sum + (each.type === type ? each.count : 0), 0)
  const status: SyncStatusAnswer = {
    clusters: states.map((state) => ({
      name: state.name,
      state: state.refusal ?? 'Accepted',
      message: explainRefusal(state),
      uid: state.uid,
      dirtyRows: sumDirtyRows(dirty.filter(({ cluster }) => cluster === state.name)),
      heldSweeps: sweeps
        .filter(({ cluster, missing }) => cluster === state.name && missing > 0)
        .map(({ kind, missing, total: all, examples, heldAt }) => ({
          kind: kinds[kind].kind,
          missing,
          total: all,
          examples: [...examples],
          heldAt: heldAt.toISOString(),
        })),
    })),
    dirtyRows: sumDirtyRows(dirty),
    counts: { frozen: total('Frozen'), orphans: total('Orphan'), strangers: total('Stranger') },
    findings: paged.items.map(({ id, type, kind, cluster, namespace, name, message, createdAt }) => ({
      id,
      type,
      kind: kinds[kind].kind,
      cluster,
      namespace,
      name,
      message,
      createdAt: createdAt.toISOString(),
    })),
  }
  return { ...paged, status }
}

type DirtyRows = SyncStatusAnswer['dirtyRows']

const oldestSeconds = sql<number>`greatest(0, coalesce(extract(epoch from now() - min(${clusterOutbox.markedAt})), 0))::float8`

/** Reads the number of dirty rows, and for how long the oldest of them has been dirty. */
export const readDirtyRows = async (db: Database): Promise<DirtyRows> => sumDirtyRows(await readDirtyRowsByCluster(db))

const sumDirtyRows = (dirty: readonly DirtyRows[]): DirtyRows => ({
  count: dirty.reduce((sum, each) => sum + each.count, 0),
  oldestSeconds: Math.max(0, ...dirty.map((each) => each.oldestSeconds)),
})

/** Reads the number of dirty rows of each cluster that has some, and for how long the oldest of them has been dirty. */
export const readDirtyRowsByCluster = (db: Database): Promise<(DirtyRows & { readonly cluster: string })[]> =>
  db
    .select({ cluster: clusterOutbox.cluster, count: count(), oldestSeconds })
    .from(clusterOutbox)
    .groupBy(clusterOutbox.cluster)

/** Counts the findings of each type and kind. */
export const countFindings = (
  db: Database,
): Promise<(Pick<FindingRow, 'type' | 'kind'> & { readonly count: number })[]> =>
  db
    .select({ type: syncFindings.type, kind: syncFindings.kind, count: count() })
    .from(syncFindings)
    .groupBy(syncFindings.type, syncFindings.kind)
