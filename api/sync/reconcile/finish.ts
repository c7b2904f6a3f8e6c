import { readObject } from '#api/sync/clusters/deletionCause.ts'
import { organizationOf } from '#api/sync/rows/identity.ts'
import { readOwner } from '#api/sync/rows/synced.ts'
import { isId } from '#shared/ids.ts'
import type { Client } from '#shared/kube/client.ts'
import type { Result } from '#shared/kube/controller.ts'
import { isForbidden, isNotFound } from '#shared/kube/errors.ts'
import { type KubeObject, objectKey } from '#shared/kube/objects.ts'
import { withDefined } from '#shared/optional.ts'
import { apiFinalizer } from '#shared/resources/group.ts'
import type { FindingCause } from './findings.ts'
import type { Adapter, ReconcileDeps, Types } from './kind.ts'
import { hasApiMarks } from './newResource.ts'
import type { Outcome, Recorded } from './record.ts'
import {
  findSyncedChange,
  pushRefusedReason,
  type SyncedState,
  type WithStatus,
  writeSynced,
} from './syncedCondition.ts'

/** The end of a comparison. */
export type Reconciled = {
  /** Row and resource can be brought together, so that an earlier finding about the resource is void. */
  readonly isMatched: boolean
  readonly result: Result
}

/** An outcome of a comparison that needs no more facts. */
type Final = Exclude<Outcome, { is: 'needs' }>

/** Does what an outcome asks for outside of the row. */
export const finish = async <T extends Types>(
  adapter: Adapter<T>,
  deps: ReconcileDeps,
  live: T['live'],
  outcome: Final,
): Promise<Reconciled> => {
  const { kind } = adapter
  const client = adapter.clientOf(deps)
  // After a move, the cache of the old cluster may still show the resource.
  const isElsewhere = outcome.is === 'stranger' || outcome.is === 'leftover'
  if (isElsewhere && (await readObject(client, live.metadata)) === undefined)
    return { isMatched: false, result: undefined }
  const finding = await findFinding(deps, live, outcome)
  if (finding !== undefined) await deps.findings.report(kind, live, finding)
  if (finding === 'Orphan' || finding === 'Stranger') await showFinding(deps, live, client, finding)
  return { isMatched: finding === undefined, result: await act(deps, live, client, outcome) }
}

const act = async <T extends WithStatus>(
  deps: ReconcileDeps,
  live: T,
  client: Client<T>,
  outcome: Final,
): Promise<Result> => {
  switch (outcome.is) {
    case 'alone':
    case 'stranger':
      return void (await releaseWithoutRow(deps, live, client))
    case 'leftover':
      return void (await deleteLeftover(deps, live, client))
    case 'notAdopted':
      return reportNotAdopted(deps, live, client, outcome.state)
    case 'recorded':
      return void (await answer(deps, live, client, outcome))
    case 'frozen':
    case 'orphan':
    case 'passed':
      return undefined
  }
}

/** Wakes push, and shows the resource what its row decided. */
const answer = async <T extends WithStatus>(
  deps: ReconcileDeps,
  live: T,
  client: Client<T>,
  { wakes, releases, reasons, synced, worldId }: Recorded,
): Promise<void> => {
  if (wakes) deps.wake()
  if (releases) return release(deps, live, client)
  if (reasons.length > 0) warn(deps, live, 'EditRefused', reasons.join(' '))
  const state = findSyncedChange(live, synced, worldId)
  if (state === undefined) return
  if (state.reason === pushRefusedReason) warn(deps, live, state.reason, state.message)
  await writeSynced(client, live, { state, worldId }, deps.clock)
}

/** Records an event of a resource. */
const warn = ({ events }: ReconcileDeps, live: KubeObject, reason: string, note: string, action = 'Syncing'): void =>
  events.record(live, { type: 'Warning', reason, action, note })

/** Returns the finding that a comparison led to, or undefined if row and resource can be brought together. */
const findFinding = async (
  { db, namespacePrefix }: ReconcileDeps,
  live: WithStatus,
  { is }: Outcome,
): Promise<FindingCause | undefined> => {
  if (is === 'stranger') return 'Stranger'
  if (is === 'frozen') return 'Frozen'
  if (is === 'orphan') return 'Orphan'
  const { deletionTimestamp, namespace } = live.metadata
  const organizationId = organizationOf(namespacePrefix, namespace)
  if (organizationId === undefined || !isId('organization', organizationId)) return undefined
  if (is !== 'alone' && is !== 'notAdopted') return undefined
  const owner = await readOwner(db, organizationId)
  if (owner === 'deleted') return 'DeletedOrganization'
  // A deleted resource is reported too: without the organization, no one removes its finalizer.
  if (owner === 'unknown') return 'LostOrganization'
  return is === 'alone' && hasApiMarks(live) && deletionTimestamp === undefined ? 'Orphan' : undefined
}

const findingMessages = {
  Orphan: 'The API has no record of this resource. An administrator can adopt it with "orrery sync adopt".',
  Stranger: 'The resource has the id of a resource of another organization or cluster. The API grants it nothing.',
} as const

/** Writes the condition Synced of a resource without a row of its own, in the namespace of an organization of this database. */
const showFinding = async <T extends WithStatus>(
  { db, namespacePrefix, clock }: ReconcileDeps,
  live: T,
  client: Client<T>,
  reason: keyof typeof findingMessages,
): Promise<void> => {
  const state = findSyncedChange(live, { status: 'False', reason, message: findingMessages[reason] })
  if (
    state === undefined ||
    (await readOwner(db, organizationOf(namespacePrefix, live.metadata.namespace))) !== 'living'
  )
    return
  // An apply removes the fields that it leaves out, and an orphan is adopted under this id.
  await writeSynced(client, live, { state, worldId: live.status?.worldId }, clock)
}

/** Deletes a leftover, so that the world has no second server. */
const deleteLeftover = async <T extends KubeObject>(deps: ReconcileDeps, live: T, client: Client<T>): Promise<void> => {
  const { uid, deletionTimestamp } = live.metadata
  if (deletionTimestamp !== undefined) return releaseWithoutRow(deps, live, client)
  deps.log.warn({ resource: objectKey(live.metadata) }, 'pull: deleted a resource whose row is in another cluster')
  await client.delete(live.metadata, withDefined({ uid }))
}

/** The interval for trying to adopt a resource again. Its project, world or room within the limits may exist by then. */
const adoptionRetryMs = 5_000

const reportNotAdopted = async <T extends WithStatus>(
  deps: ReconcileDeps,
  live: T,
  client: Client<T>,
  wanted: SyncedState,
): Promise<Result> => {
  const state = findSyncedChange(live, wanted)
  if (state !== undefined) {
    warn(deps, live, state.reason, state.message, 'Adopting')
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
const releaseWithoutRow = async <T extends KubeObject>(
  deps: ReconcileDeps,
  live: T,
  client: Client<T>,
): Promise<void> => {
  if (live.metadata.deletionTimestamp === undefined || !live.metadata.finalizers?.includes(apiFinalizer)) return
  const owner = await readOwner(deps.db, organizationOf(deps.namespacePrefix, live.metadata.namespace))
  if (owner !== 'unknown') await release(deps, live, client)
}

const release = async <T extends KubeObject>(deps: ReconcileDeps, live: T, client: Client<T>): Promise<void> => {
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
