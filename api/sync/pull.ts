import { eq, sql } from 'drizzle-orm'
import { deleteWorldContents } from '#api/domain/deletion/service.ts'
import { type WorldRow, worlds } from '#api/domain/worlds/table.ts'
import { toStartColumns, toStopColumns } from '#api/domain/worlds/transitions.ts'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { isDirty, markDirty } from '#api/platform/outbox/outbox.ts'
import type { Clock } from '#shared/clock.ts'
import type { NewId } from '#shared/ids.ts'
import type { Client } from '#shared/kube/client.ts'
import { isNotFound } from '#shared/kube/errors.ts'
import { type KubeObject, objectKey, parseKey } from '#shared/kube/objects.ts'
import type { Log } from '#shared/log.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import { apiFinalizer, namespaceOf } from '#shared/resources/group.ts'
import { type World, worldSpecSchema } from '#shared/resources/world.ts'
import { identify } from './identity.ts'
import { observeWorld, type Verdict } from './observe.ts'
import { ownsNamespace } from './ownership.ts'
import { lockRow, recordObserved } from './rows.ts'
import type { Strangers } from './strangers.ts'
import {
  appliedRows,
  forgetResource,
  isOutdated,
  type Kind,
  lockSynced,
  markRow,
  newestVersion,
  type SyncedRow,
} from './synced.ts'

export type PullDeps = {
  readonly db: Database
  readonly worlds: Client<World>
  readonly bots: Client<BotDeployment>
  readonly cluster: string
  readonly namespacePrefix: string
  readonly strangers: Strangers
  readonly clock: Clock
  readonly newId: NewId
  readonly log: Log
  /** Called after a commit that marked a row dirty. */
  readonly wake: () => void
}

/**
 * Reads one World from the cache into its row. Undefined means that it was deleted. A World without a row is ignored. `key` is
 * `namespace/name`.
 */
export const pullWorld = (deps: PullDeps, key: string, live: World | undefined): Promise<void> =>
  pullResource(deps, { kind: 'world', key, live, client: deps.worlds, apply: applyWorldObservation })

/** The result of comparing a resource with the row of its name; undefined where there is no such row. */
export type Outcome = {
  readonly frozen?: true
  readonly release?: true
  /** A row was marked dirty. */
  readonly wake?: boolean
  /** The resource belongs to another namespace. */
  readonly stranger?: true
  /** The uid on record differs; the resource replaces it once a live read shows that uid to be gone. */
  readonly replacedUid?: string | null
}

/** Compares a resource with its row in one transaction. `replacedUid` is a recorded uid that is known to be gone. */
export type ApplyObservation<T> = (
  deps: PullDeps,
  tx: Transaction,
  live: T,
  replacedUid: string | undefined,
) => Promise<Outcome | undefined>

/** Reads one resource of either kind into its row. */
export const pullResource = async <T extends KubeObject>(
  deps: PullDeps,
  options: { kind: Kind; key: string; live: T | undefined; client: Client<T>; apply: ApplyObservation<T> },
): Promise<void> => {
  const { kind, key, live, client, apply } = options
  if (live === undefined) {
    deps.strangers.forget(client.resource.kind, key)
    return pullGone(deps, kind, key)
  }
  const outcome = await deps.db.transaction((tx) => apply(deps, tx, live, undefined))
  if (!outcome?.replacedUid) return finishPull(deps, live, client, outcome)
  const now = await readLive(client, live)
  // One name holds one object, so the uid on record is gone if the API server shows this one.
  if (now === undefined || now.metadata.uid !== live.metadata.uid) return
  const { replacedUid } = outcome
  deps.log.warn(
    { [kind]: key, uid: now.metadata.uid, replacedUid },
    'pull: the recorded resource was replaced by another with the same name',
  )
  return finishPull(deps, now, client, await deps.db.transaction((tx) => apply(deps, tx, now, replacedUid)))
}

const readLive = async <T extends KubeObject>(client: Client<T>, { metadata }: T): Promise<T | undefined> => {
  try {
    return await client.get({ namespace: metadata.namespace, name: metadata.name })
  } catch (error) {
    if (!isNotFound(error)) throw error
    return undefined
  }
}

/** Executes the part of an outcome that lies outside the row. */
const finishPull = async <T extends KubeObject>(
  deps: PullDeps,
  live: T,
  client: Client<T>,
  outcome: Outcome | undefined,
): Promise<void> => {
  if (outcome?.stranger) deps.strangers.report(live)
  if (outcome === undefined || outcome.stranger) return releaseWithoutRow(deps, live, client)
  if (outcome.frozen) {
    deps.log.error(
      { resource: live.metadata.name },
      'pull: row frozen: the resource has a higher revision, the database may have been restored',
    )
  }
  if (outcome.release) await release(deps, live, client)
  if (outcome.wake) deps.wake()
}

/**
 * Removes the finalizer of a deleted resource without a row. It does so only in the namespace of an organization of this
 * database; elsewhere the finalizer may belong to another API installation.
 */
const releaseWithoutRow = async <T extends KubeObject>(deps: PullDeps, live: T, client: Client<T>): Promise<void> => {
  if (live.metadata.deletionTimestamp === undefined || !live.metadata.finalizers?.includes(apiFinalizer)) return
  if (await ownsNamespace(deps.db, deps.namespacePrefix, live.metadata.namespace)) await release(deps, live, client)
}

const applyWorldObservation: ApplyObservation<World> = async (deps, tx, seen, replacedUid) => {
  const row = await lockRow(tx, seen.metadata.name)
  if (row === undefined) return undefined
  const identity = identify(row, seen.metadata, { namespacePrefix: deps.namespacePrefix, replacedUid })
  if (identity === 'stranger') return { stranger: true }
  if (identity === 'successor') return { replacedUid: row.resourceUid }
  const live = { ...seen, spec: worldSpecSchema.parse(seen.spec) }
  if (isOutdated(row, live.metadata)) return {}
  const verdict = observeWorld(row, live, await isDirty(tx, 'world', row.id))
  if (verdict.frozen) return { frozen: true }
  await recordObserved(tx, row, live, verdict)
  await tx
    .update(worlds)
    .set({
      ...newestVersion(row, live.metadata),
      // The adopted spec becomes the base for the next comparison, even before it is pushed.
      ...(verdict.adoptState ? { applied: live.spec } : {}),
      ...intentOf(deps, row, verdict),
    })
    .where(eq(worlds.id, row.id))
  if (verdict.markDeleting) {
    await deleteWorldContents(tx, { ...row, worldId: row.id }, new Date(deps.clock.now()))
  }
  const wake = Boolean(verdict.adoptState ?? verdict.pushAgain ?? verdict.markDeleting)
  if (wake) {
    const revision = row.revision + (verdict.pushAgain ? 0 : 1)
    await markDirty(tx, { kind: 'world', id: row.id, revision }, deps.clock.now())
  }
  return { wake, ...(verdict.release ? { release: true } : {}) }
}

/** Returns the changes of desired state that an edit with kubectl causes in the row. */
const intentOf = (deps: PullDeps, row: WorldRow, verdict: Verdict): Partial<WorldRow> => {
  const now = new Date(deps.clock.now())
  if (verdict.markDeleting) return { deletingAt: now, revision: row.revision + 1 }
  // A start with kubectl uses the build of the last start over REST. Only REST resolves builds.
  if (verdict.adoptState === 'Running') {
    return toStartColumns(row, { runId: deps.newId('run'), now, build: row.resolvedBuild })
  }
  if (verdict.adoptState === 'Stopped') return toStopColumns(row, { now })
  return {}
}

/**
 * Handles a resource that is missing in the cache. The cache may be outdated, so this only marks the row. Push then reads the
 * cluster, deletes the row of a deleted resource, and recreates a resource that vanished without its finalizer.
 */
export const pullGone = async (deps: PullDeps, kind: Kind, key: string): Promise<void> => {
  const { namespace, name: id } = parseKey(key)
  const row = await deps.db.transaction(async (tx): Promise<SyncedRow | undefined> => {
    const locked = await lockSynced(tx, kind, id)
    if (locked === undefined || (locked.deletingAt === null && locked.resourceUid === null)) return undefined
    if (namespace !== namespaceOf(deps.namespacePrefix, locked.organizationId)) return undefined
    if (locked.deletingAt === null) await forgetResource(tx, kind, id)
    await markRow(tx, kind, locked, deps.clock.now())
    return locked
  })
  if (row === undefined) return
  if (row.deletingAt === null) deps.log.warn({ [kind]: id }, 'pull: resource vanished, recreating it')
  deps.wake()
}

const release = async <T extends KubeObject>(deps: PullDeps, live: T, client: Client<T>): Promise<void> => {
  const { name, namespace, uid, resourceVersion, finalizers = [] } = live.metadata
  if (!finalizers.includes(apiFinalizer)) return
  const metadata = { uid, resourceVersion, finalizers: finalizers.filter((each) => each !== apiFinalizer) }
  try {
    await client.patch({ name, ...(namespace === undefined ? {} : { namespace }) }, { metadata })
    deps.log.info({ resource: name }, 'pull: deletion recorded, finalizer removed')
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}

/** Handles rows whose resource is missing in a full list, whose keys `present` holds, like watched deletions. */
export const pullVanished = async (deps: PullDeps, kind: Kind, present: ReadonlySet<string>): Promise<void> => {
  for (const { id, organizationId } of await appliedRows(deps.db, kind, deps.cluster)) {
    const key = objectKey({ namespace: namespaceOf(deps.namespacePrefix, organizationId), name: id })
    if (!present.has(key)) await pullGone(deps, kind, key)
  }
}

/** Returns the number of dirty rows. */
export const outboxDepth = async (db: Database): Promise<number> => {
  const { rows } = await db.execute<{ depth: number }>(sql`select count(*)::int as depth from cluster_outbox`)
  return rows[0]?.depth ?? 0
}
