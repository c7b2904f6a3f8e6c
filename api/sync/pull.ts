import { eq, sql } from 'drizzle-orm'
import { endContents } from '#api/domain/deletion/service.ts'
import { type WorldRow, worlds } from '#api/domain/worlds/table.ts'
import { startColumns, stopColumns } from '#api/domain/worlds/transitions.ts'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { isDirty, markDirty } from '#api/platform/outbox/outbox.ts'
import type { Clock } from '#shared/clock.ts'
import type { NewId } from '#shared/ids.ts'
import type { Client } from '#shared/kube/client.ts'
import { isNotFound } from '#shared/kube/errors.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import type { Log } from '#shared/log.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import { apiFinalizer } from '#shared/resources/group.ts'
import { type World, worldSpecSchema } from '#shared/resources/world.ts'
import { observeWorld, type Verdict } from './observe.ts'
import { lockRow, recordObserved } from './rows.ts'
import {
  forgetResource,
  isOutdated,
  type Kind,
  lockSynced,
  markRow,
  newestVersion,
  type SyncedRow,
  vanishedIds,
} from './synced.ts'

export type PullDeps = {
  readonly db: Database
  readonly worlds: Client<World>
  readonly bots: Client<BotDeployment>
  readonly cluster: string
  readonly clock: Clock
  readonly newId: NewId
  readonly log: Log
  /** Called after a commit that left something to push. */
  readonly wake: () => void
}

/** Takes one World as the cache shows it (undefined: it is gone) into its row. Worlds without a row are left alone. */
export const pullWorld = async (deps: PullDeps, name: string, live: World | undefined): Promise<void> => {
  if (live === undefined) return pullGone(deps, 'world', name)
  const world = { ...live, spec: worldSpecSchema.parse(live.spec) }
  await follow(deps, world, deps.worlds, await deps.db.transaction((tx) => take(deps, tx, world)))
}

/** What a look at a resource leaves to do outside its transaction; undefined is a resource without a row. */
type Outcome = {
  readonly frozen?: true
  readonly release?: true
  /** Something is to be pushed. */
  readonly wake?: boolean
}

/** Does what a look at a resource asks for beyond its row. */
export const follow = async <T extends KubeObject>(
  deps: PullDeps,
  live: T,
  client: Client<T>,
  outcome: Outcome | undefined,
): Promise<void> => {
  // The finalizer of a resource without a row holds nothing up: there is no record whose end it could wait for.
  if (outcome === undefined && live.metadata.deletionTimestamp !== undefined) await release(deps, live, client)
  if (outcome?.frozen) {
    deps.log.error(
      { resource: live.metadata.name },
      'pull: the resource is newer than the database, which was perhaps restored; nothing is written',
    )
  }
  if (outcome?.release) await release(deps, live, client)
  if (outcome?.wake) deps.wake()
}

const take = async (deps: PullDeps, tx: Transaction, live: World): Promise<Outcome | undefined> => {
  const row = await lockRow(tx, live.metadata.name)
  if (row === undefined) return undefined
  if (isOutdated(row, live.metadata)) return {}
  const verdict = observeWorld(row, live, await isDirty(tx, 'world', row.id))
  if (verdict.frozen) return { frozen: true }
  await recordObserved(tx, row, live, verdict)
  await tx
    .update(worlds)
    .set({
      ...newestVersion(row, live.metadata),
      // What was adopted is common ground from now on; the next edit is compared with it, even before it is pushed back.
      ...(verdict.adoptState ? { applied: live.spec } : {}),
      ...intentOf(deps, row, verdict),
    })
    .where(eq(worlds.id, row.id))
  if (verdict.markDeleting) {
    await endContents(tx, { ...row, worldId: row.id }, new Date(deps.clock.now()))
  }
  const wake = Boolean(verdict.adoptState ?? verdict.pushAgain ?? verdict.markDeleting)
  if (wake) {
    const revision = row.revision + (verdict.pushAgain ? 0 : 1)
    await markDirty(tx, { kind: 'world', id: row.id, revision }, deps.clock.now())
  }
  return { wake, ...(verdict.release ? { release: true } : {}) }
}

/** What an edit by another door changes in the row. */
const intentOf = (deps: PullDeps, row: WorldRow, verdict: Verdict): Partial<WorldRow> => {
  const now = new Date(deps.clock.now())
  if (verdict.markDeleting) return { deletingAt: now, revision: row.revision + 1 }
  // A start by kubectl runs what the last start over REST resolved; a build is resolved anew by a start over REST.
  if (verdict.adoptState === 'Running') {
    return startColumns(row, { runId: deps.newId('run'), now, build: row.resolvedBuild })
  }
  if (verdict.adoptState === 'Stopped') return stopColumns(row, { now })
  return {}
}

/**
 * A resource that the cache does not show. The cache may be behind, so nothing ends here: push looks at the cluster
 * itself, lets the row of a deleted thing go, and makes a resource that vanished without the finalizer again.
 */
export const pullGone = async (deps: PullDeps, kind: Kind, id: string): Promise<void> => {
  const row = await deps.db.transaction(async (tx): Promise<SyncedRow | undefined> => {
    const found = await lockSynced(tx, kind, id)
    if (found === undefined || (found.deletingAt === null && found.resourceUid === null)) return undefined
    if (found.deletingAt === null) await forgetResource(tx, kind, id)
    await markRow(tx, kind, found, deps.clock.now())
    return found
  })
  if (row === undefined) return
  if (row.deletingAt === null) deps.log.warn({ [kind]: id }, 'pull: the resource vanished and is made again')
  deps.wake()
}

const release = async <T extends KubeObject>(deps: PullDeps, live: T, client: Client<T>): Promise<void> => {
  const { name, namespace, uid, resourceVersion, finalizers = [] } = live.metadata
  if (!finalizers.includes(apiFinalizer)) return
  const metadata = { uid, resourceVersion, finalizers: finalizers.filter((each) => each !== apiFinalizer) }
  try {
    await client.patch({ name, ...(namespace === undefined ? {} : { namespace }) }, { metadata })
    deps.log.info({ resource: name }, 'pull: the end is recorded and the finalizer removed')
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}

/** After a full list: what should be there and is not goes through the same door as a deletion that was watched. */
export const pullVanished = async (deps: PullDeps, kind: Kind, present: ReadonlySet<string>): Promise<void> => {
  for (const id of await vanishedIds(deps.db, kind, deps.cluster, present)) await pullGone(deps, kind, id)
}

/** Counts the rows that wait to be pushed. */
export const outboxDepth = async (db: Database): Promise<number> => {
  const { rows } = await db.execute<{ depth: number }>(sql`select count(*)::int as depth from cluster_outbox`)
  return rows[0]?.depth ?? 0
}
