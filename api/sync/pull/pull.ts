import type { Transaction } from '#api/platform/database/client.ts'
import { type DeletionCause, readCause, readObject } from '#api/sync/clusters/deletionCause.ts'
import { type Owns, readOwnership } from '#api/sync/merge/base.ts'
import { organizationOf } from '#api/sync/rows/identity.ts'
import type { Kind } from '#api/sync/rows/synced.ts'
import { isId } from '#shared/ids.ts'
import type { Client } from '#shared/kube/client.ts'
import type { Result } from '#shared/kube/controller.ts'
import { isForbidden, isNotFound } from '#shared/kube/errors.ts'
import { type KubeObject, type ObjectMeta, objectKey } from '#shared/kube/objects.ts'
import { withDefined } from '#shared/optional.ts'
import { apiFinalizer } from '#shared/resources/group.ts'
import { startSpanOf } from '#shared/resources/trace.ts'
import { readEditor } from './auditTrail.ts'
import type { FindingCause } from './findings.ts'
import { pullGone } from './gone.ts'
import { hasApiMarks } from './newResource.ts'
import { readOwner } from './ownership.ts'
import type { PullDeps } from './pullDeps.ts'
import {
  findSyncedChange,
  recordNotAdopted,
  recordPushRefusal,
  recordRefusal,
  type Shown,
  type SyncedState,
  shownAs,
  type WithStatus,
  writeSynced,
} from './syncedCondition.ts'

/** The result of comparing a resource with the row of its name; undefined where there is no such row. */
export type Outcome = {
  readonly frozen?: true
  readonly release?: true
  /** A row was marked dirty. */
  readonly wake?: boolean
  /** The resource belongs to another cluster or namespace. */
  readonly stranger?: true
  /** The API made the resource before the row moved to another cluster. */
  readonly leftover?: true
  /** The row was removed, and the resource has come back with a restore of the cluster. */
  readonly orphan?: true
  /** The uid on record differs; the resource replaces it once a live read shows that uid to be gone. */
  readonly replacedUid?: string | null
  /** The comparison needs to know which fields the API manages. Nothing was written. */
  readonly needsOwnership?: true
  /** The resource is new, and the comparison needs to know of another one with its id. Comes with `needsOwnership`. */
  readonly needsRival?: true
  /** A sentence for each edit that was refused now. */
  readonly reasons?: readonly string[]
  /** The cause of the state of the condition Synced. */
  readonly shown?: Shown
  /** The id of the world, if the name of the resource is not the id of its row. */
  readonly worldId?: string | undefined
  /** The reason why a new resource is not adopted. It is tried again later. */
  readonly notAdopted?: SyncedState
  /** The resource is being deleted, and the cause must be read first. Nothing was written. */
  readonly needsCause?: true
  /** The row's new phase, if it is the answer to the change that the resource carries. */
  readonly settled?: string
  /** The last writes, which share the round trip of the commit. If one of them fails, nothing is committed. */
  readonly written?: Promise<unknown>
}

/** Facts about a resource that were read from the API server. `replacedUid` is a recorded uid that is known to be gone. */
export type Facts = {
  readonly replacedUid?: string | undefined
  readonly cause?: DeletionCause
  /** The fields that the API manages. */
  readonly owns?: Owns
  /** The manager that last edited the resource. It is read together with `owns`. */
  readonly editor?: string
  /** Another resource whose name is the same id, as `namespace/name`. It is read for new resources. */
  readonly rival?: string | undefined
}

/** Compares a resource with its row in one transaction. */
export type ApplyObservation<T> = (
  deps: PullDeps,
  tx: Transaction,
  live: T,
  facts: Facts,
) => Promise<Outcome | undefined>

/** Reads one resource of either kind into its row. */
export const pullResource = async <T extends WithStatus>(
  deps: PullDeps,
  options: { kind: Kind; key: string; live: T | undefined; client: Client<T>; apply: ApplyObservation<T> },
): Promise<Result> => {
  const { kind, key, live } = options
  if (live !== undefined && (await deps.echoes.has({ kind, key }, live)))
    return void (await deps.findings.forget(kind, key))
  deps.echoes.pulled({ kind, key }, false)
  const result = await (live === undefined ? forget(deps, kind, key) : compare(deps, { ...options, live }))
  deps.echoes.pulled({ kind, key }, true)
  return result
}

const forget = async (deps: PullDeps, kind: Kind, key: string): Promise<undefined> => {
  await deps.findings.forget(kind, key)
  await pullGone(deps, kind, key)
}

/** Compares a live resource with its row, reads more facts until the comparison is complete, and acts on the outcome. */
const compare = async <T extends WithStatus>(
  deps: PullDeps,
  {
    kind,
    key,
    live,
    client,
    apply,
  }: { kind: Kind; key: string; live: T; client: Client<T>; apply: ApplyObservation<T> },
): Promise<Result> => {
  const observe = async (object: T, facts: Facts): Promise<Outcome | undefined> => {
    const outcome = await deps.transaction((tx) => apply(deps, tx, object, facts))
    await outcome?.written
    return outcome
  }
  const startMs = deps.clock.now()
  let seen: { live: T; facts: Facts } = { live, facts: {} }
  for (let round = 0; round < maxRounds; round += 1) {
    const outcome = await observe(seen.live, seen.facts)
    const more = await readMore(deps, { kind, key, client, live: seen.live }, outcome)
    if (more === 'complete') {
      const attributes = withDefined({ 'orrery.phase': outcome?.settled })
      if (outcome?.settled) startSpanOf(deps.tracing, seen.live, `pull ${kind}`, { startMs, attributes }).end()
      return finishPull(deps, { kind, live: seen.live, client }, outcome)
    }
    if (more === 'gone') return
    seen = { live: more.live, facts: { ...seen.facts, ...more.facts } }
  }
  throw new Error(`The resource ${key} changed while it was read.`)
}

/** A comparison may need the cause of a deletion, the end of another uid, and the ownership of fields. */
const maxRounds = 4

/** Reads from the API server what a comparison needs beside the resource. */
const readMore = async <T extends KubeObject>(
  deps: PullDeps,
  { kind, key, client, live }: { kind: Kind; key: string; client: Client<T>; live: T },
  outcome: Outcome | undefined,
): Promise<{ live: T; facts: Facts } | 'complete' | 'gone'> => {
  if (outcome?.needsCause) {
    const read = await readCause(deps, client, live)
    return read === undefined ? 'gone' : { live: read.live, facts: { cause: read.cause } }
  }
  if (!outcome?.replacedUid && !outcome?.needsOwnership) return 'complete'
  const now = await readObject(client, live.metadata, { managedFields: true })
  // One name holds one object, so the uid on record is gone if the API server shows this one.
  if (now === undefined || now.metadata.uid !== live.metadata.uid) return 'gone'
  const rival = outcome.needsRival ? await findRival(client, kind, now.metadata) : undefined
  const read = { owns: readOwnership(now.metadata), editor: readEditor(now.metadata), rival }
  const { replacedUid } = outcome
  if (!replacedUid) return { live: now, facts: read }
  await deps.gate.check({ fresh: true })
  deps.log.warn(
    { [kind]: key, uid: now.metadata.uid, replacedUid },
    'pull: the recorded resource was replaced by another with the same name',
  )
  return { live: now, facts: { ...read, replacedUid } }
}

/** Finds another resource with the same name in the cluster, if that name is an id. It may be the rightful owner of the id. */
const findRival = async <T extends KubeObject>(
  client: Client<T>,
  kind: Kind,
  { name, uid }: ObjectMeta,
): Promise<string | undefined> => {
  if (!isId(kind, name)) return undefined
  const { items } = await client.list({ fieldSelector: `metadata.name=${name}` })
  const other = items.find(({ metadata }) => metadata.uid !== uid)
  return other && objectKey(other.metadata)
}

/** Executes the part of an outcome that lies outside the row. */
const finishPull = async <T extends WithStatus>(
  deps: PullDeps,
  { kind, live, client }: { kind: Kind; live: T; client: Client<T> },
  outcome: Outcome | undefined,
): Promise<Result> => {
  // After a move, the cache of the old cluster may still show the resource.
  const isElsewhere = outcome?.stranger ?? outcome?.leftover
  if (isElsewhere && (await readObject(client, live.metadata)) === undefined) return
  const finding = await findFinding(deps, live, outcome)
  if (finding === undefined) await deps.findings.forget(kind, objectKey(live.metadata))
  else await deps.findings.report(kind, live, finding)
  if (finding === 'Orphan' || finding === 'Stranger') await showFinding(deps, live, client, finding)
  if (outcome?.leftover) return void (await deleteLeftover(deps, live, client))
  if (outcome?.notAdopted) return reportNotAdopted(deps, live, client, outcome.notAdopted)
  if (outcome === undefined || outcome.stranger) return void (await releaseWithoutRow(deps, live, client))
  if (outcome.wake) deps.wake()
  if (outcome.release) return void (await release(deps, live, client))
  recordRefusal(deps.events, live, outcome.reasons ?? [])
  if (outcome.shown === undefined) return
  const { worldId } = outcome
  const state = findSyncedChange(live, shownAs(outcome.shown), worldId)
  if (state === undefined) return
  recordPushRefusal(deps.events, live, state)
  await writeSynced(client, live, { state, worldId }, deps.clock)
}

const findingMessages = {
  Orphan: 'The API has no record of this resource. An administrator can adopt it with "orrery sync adopt".',
  Stranger: 'The resource has the id of a resource of another organization or cluster. The API grants it nothing.',
} as const

/** Writes the condition Synced of a resource without a row of its own, in the namespace of an organization of this database. */
const showFinding = async <T extends WithStatus>(
  { db, namespacePrefix, clock }: PullDeps,
  live: T,
  client: Client<T>,
  reason: keyof typeof findingMessages,
): Promise<void> => {
  const state = findSyncedChange(live, { status: 'False', reason, message: findingMessages[reason] })
  if (state === undefined || (await readOwner(db, namespacePrefix, live.metadata.namespace)) !== 'living') return
  await writeSynced(client, live, { state }, clock)
}

/** Returns the finding that a comparison led to, or undefined if row and resource can be brought together. */
const findFinding = async (
  deps: PullDeps,
  live: WithStatus,
  outcome: Outcome | undefined,
): Promise<FindingCause | undefined> => {
  if (outcome?.stranger) return 'Stranger'
  if (outcome?.frozen) return 'Frozen'
  if (outcome?.orphan) return 'Orphan'
  const { deletionTimestamp, namespace } = live.metadata
  const organizationId = organizationOf(deps.namespacePrefix, namespace)
  if (organizationId === undefined || !isId('organization', organizationId)) return undefined
  if (outcome !== undefined && !outcome.notAdopted) return undefined
  const owner = await readOwner(deps.db, deps.namespacePrefix, namespace)
  if (owner === 'deleted') return 'DeletedOrganization'
  // A deleted one is reported too: without the organization, no one removes its finalizer.
  if (owner === 'unknown') return 'LostOrganization'
  return outcome === undefined && hasApiMarks(live) && deletionTimestamp === undefined ? 'Orphan' : undefined
}

/** Deletes a leftover, so that the world has no second server. */
const deleteLeftover = async <T extends KubeObject>(deps: PullDeps, live: T, client: Client<T>): Promise<void> => {
  const { uid, deletionTimestamp } = live.metadata
  if (deletionTimestamp !== undefined) return releaseWithoutRow(deps, live, client)
  deps.log.warn({ resource: objectKey(live.metadata) }, 'pull: deleted a resource whose row is in another cluster')
  await client.delete(live.metadata, withDefined({ uid }))
}

/** The interval for trying to adopt a resource again. Its project, world or room within the limits may exist by then. */
const adoptionRetryMs = 5_000

const reportNotAdopted = async <T extends WithStatus>(
  deps: PullDeps,
  live: T,
  client: Client<T>,
  wanted: SyncedState,
): Promise<Result> => {
  const state = findSyncedChange(live, wanted)
  if (state !== undefined) {
    recordNotAdopted(deps.events, live, state)
    await writeSynced(client, live, { state }, deps.clock).catch((error: unknown) => {
      // The API has no rights left in a closed namespace that was empty.
      if (!isForbidden(error)) throw error
    })
  }
  return { requeueAfterMs: adoptionRetryMs }
}

/**
 * Removes the finalizer of a deleted resource without a row. It does so only in the namespace of an organization of this
 * database; elsewhere the finalizer may belong to another API installation.
 */
const releaseWithoutRow = async <T extends KubeObject>(deps: PullDeps, live: T, client: Client<T>): Promise<void> => {
  if (live.metadata.deletionTimestamp === undefined || !live.metadata.finalizers?.includes(apiFinalizer)) return
  const owner = await readOwner(deps.db, deps.namespacePrefix, live.metadata.namespace)
  if (owner !== 'unknown') await release(deps, live, client)
}

const release = async <T extends KubeObject>(deps: PullDeps, live: T, client: Client<T>): Promise<void> => {
  const { name, namespace, uid, resourceVersion, finalizers = [] } = live.metadata
  if (!finalizers.includes(apiFinalizer)) return
  const metadata = { uid, resourceVersion, finalizers: finalizers.filter((each) => each !== apiFinalizer) }
  try {
    await client.patch(withDefined({ name, namespace }), { metadata })
    deps.log.info({ resource: name }, 'pull: deletion recorded, finalizer removed')
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}
