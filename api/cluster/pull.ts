import { eq, sql } from 'drizzle-orm'
import type { Database, Transaction } from '#api/db/client.ts'
import { type WorldRow, worlds } from '#api/worlds/table.ts'
import { startColumns, stopColumns } from '#api/worlds/transitions.ts'
import type { Clock } from '#shared/clock.ts'
import type { NewId } from '#shared/ids.ts'
import type { Client } from '#shared/kube/client.ts'
import { isNotFound } from '#shared/kube/errors.ts'
import type { Log } from '#shared/log.ts'
import { apiFinalizer } from '#shared/resources/group.ts'
import { type World, worldSpecSchema } from '#shared/resources/world.ts'
import { observeWorld, type Verdict } from './observe.ts'
import { isDirty, markDirty } from './outbox.ts'
import { forgetResource, isOutdated, lockRow, newestVersion, recordObserved, vanishedRows } from './rows.ts'

export type PullDeps = {
  readonly db: Database
  readonly worlds: Client<World>
  readonly cluster: string
  readonly clock: Clock
  readonly newId: NewId
  readonly log: Log
  /** Called after a commit that left something to push. */
  readonly wake: () => void
}

/** Takes one World as the cache shows it (undefined: it is gone) into its row. Worlds without a row are left alone. */
export const pullWorld = async (deps: PullDeps, name: string, live: World | undefined): Promise<void> => {
  if (live === undefined) return pullGone(deps, name)
  const world = { ...live, spec: worldSpecSchema.parse(live.spec) }
  const verdict = await deps.db.transaction((tx) => take(deps, tx, world))
  if (verdict === undefined) return releaseStranger(deps, world)
  if (verdict.frozen) {
    deps.log.error(
      { world: name, liveRevision: world.spec.revision },
      'pull: the resource is newer than the database, which was perhaps restored; nothing is written',
    )
    return
  }
  if (verdict.release) await release(deps, world)
  if (verdict.adoptState ?? verdict.pushAgain ?? verdict.markDeleting) deps.wake()
}

const take = async (deps: PullDeps, tx: Transaction, live: World): Promise<Verdict | undefined> => {
  const row = await lockRow(tx, live.metadata.name)
  if (row === undefined) return undefined
  if (isOutdated(row, live.metadata)) return { deployments: [] }
  const verdict = observeWorld(row, live, await isDirty(tx, 'world', row.id))
  if (verdict.frozen) return verdict
  await recordObserved(tx, row, live, verdict)
  await tx
    .update(worlds)
    .set({
      ...newestVersion(row, live.metadata),
      // What was adopted is common ground from now on; the next edit is compared with it, even before it is pushed back.
      ...(verdict.adoptState && row.applied ? { applied: { ...row.applied, state: verdict.adoptState } } : {}),
      ...intentOf(deps, row, verdict),
    })
    .where(eq(worlds.id, row.id))
  if (verdict.pushAgain || verdict.adoptState || verdict.markDeleting) {
    const revision = row.revision + (verdict.pushAgain ? 0 : 1)
    await markDirty(tx, { kind: 'world', id: row.id, revision }, deps.clock.now())
  }
  return verdict
}

/** What an edit by another door changes in the row. */
const intentOf = (deps: PullDeps, row: WorldRow, verdict: Verdict): Partial<WorldRow> => {
  const now = new Date(deps.clock.now())
  if (verdict.markDeleting) return { deletingAt: now, revision: row.revision + 1 }
  if (verdict.adoptState === 'Running') return startColumns(row, { runId: deps.newId('run'), now })
  if (verdict.adoptState === 'Stopped') return stopColumns(row, { now })
  return {}
}

/**
 * A resource that the cache does not show. The cache may be behind, so nothing ends here: push looks at the cluster
 * itself, lets the row of a deleted world go, and makes a resource that vanished without the finalizer again.
 */
const pullGone = async (deps: PullDeps, id: string): Promise<void> => {
  const vanished = await deps.db.transaction(async (tx) => {
    const row = await lockRow(tx, id)
    if (row === undefined) return undefined
    if (row.deletingAt === null && row.resourceUid === null) return undefined
    if (row.deletingAt === null) await forgetResource(tx, [id])
    await markDirty(tx, { kind: 'world', id, revision: row.revision }, deps.clock.now())
    return row.deletingAt === null
  })
  if (vanished === undefined) return
  if (vanished) deps.log.warn({ world: id }, 'pull: the resource vanished and is made again')
  deps.wake()
}

/** The finalizer of a World without a row holds nothing up: there is no record whose end it could wait for. */
const releaseStranger = async (deps: PullDeps, live: World): Promise<void> => {
  if (live.metadata.deletionTimestamp !== undefined) await release(deps, live)
}

const release = async (deps: PullDeps, live: World): Promise<void> => {
  const { name, namespace, uid, resourceVersion, finalizers = [] } = live.metadata
  if (!finalizers.includes(apiFinalizer)) return
  const metadata = { uid, resourceVersion, finalizers: finalizers.filter((each) => each !== apiFinalizer) }
  try {
    await deps.worlds.patch({ name, ...(namespace === undefined ? {} : { namespace }) }, { metadata })
    deps.log.info({ world: name }, 'pull: the end is recorded and the finalizer removed')
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}

/** After a full list: what should be there and is not goes through the same door as a deletion that was watched. */
export const pullVanished = async (deps: PullDeps, present: ReadonlySet<string>): Promise<void> => {
  for (const row of await vanishedRows(deps.db, deps.cluster, present)) await pullGone(deps, row.id)
}

/** Counts the rows that wait to be pushed. */
export const outboxDepth = async (db: Database): Promise<number> => {
  const [row] = await db.execute<{ depth: number }>(sql`select count(*)::int as depth from cluster_outbox`)
  return row?.depth ?? 0
}
