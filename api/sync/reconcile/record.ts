import { insertAuditRecord } from '#api/platform/audit/records.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { markDirty } from '#api/platform/outbox/outbox.ts'
import type { DeletionCause } from '#api/sync/clusters/deletionCause.ts'
import type { Owns } from '#api/sync/merge/merge.ts'
import { type Changes, refusalColumn } from '#api/sync/merge/observe.ts'
import { type Kind, newestVersion } from '#api/sync/rows/synced.ts'
import type { Clock } from '#shared/clock.ts'
import type { NewId } from '#shared/ids.ts'
import type { ObjectMeta } from '#shared/kube/objects.ts'
import { fieldManagers, kinds } from '#shared/resources/group.ts'
import type { Adapter, Change, CommonColumns, ReconcileDeps, Types } from './kind.ts'
import { type SyncedState, shownAs, shownWorldId } from './syncedCondition.ts'

/** Facts about a resource that only the API server knows. */
export type Facts = {
  /** The fields that the API manages. */
  readonly owns: Owns
  /** The manager that last edited the resource. */
  readonly editor: string
  readonly cause?: DeletionCause
  /** A uid on record that is known to be gone. */
  readonly replacedUid?: string
  /** Another resource whose name is the same id, as `namespace/name`. */
  readonly rival?: string
}

/** The facts that a comparison needs in addition to the managed fields, which every such read includes. */
export type Needs = {
  readonly cause?: true
  /** The uid on record differs; the resource replaces it once a live read shows that uid to be gone. */
  readonly replacedUid?: string
  readonly rival?: true
}

/**
 * The result of comparing a resource with the row of its name.
 *
 * - `alone`: there is no such row, and the resource is not to be adopted.
 * - `needs`: facts must be read first. Nothing was written.
 * - `passed`: the row has recorded a later version, or its resource was replaced by one that is not to be adopted.
 * - `frozen`: the resource has a higher revision than the row, as after a restore of the database.
 * - `orphan`: the row was removed, and the resource has come back with a restore of the cluster.
 * - `stranger`: the resource belongs to another cluster or namespace.
 * - `leftover`: the API made the resource before the row moved to another cluster.
 * - `notAdopted`: the new resource is not adopted. It is tried again later.
 * - `recorded`: the verdict is in the row.
 */
export type Outcome =
  | { readonly is: 'alone' | 'passed' | 'frozen' | 'orphan' | 'stranger' | 'leftover' }
  | { readonly is: 'needs'; readonly needs: Needs }
  | { readonly is: 'notAdopted'; readonly state: SyncedState }
  | Recorded

/** A verdict that was written to its row. */
export type Recorded = {
  readonly is: 'recorded'
  /** The row was marked dirty. */
  readonly wakes: boolean
  /** The finalizer of the API can be removed. */
  readonly releases: boolean
  /** A sentence for each edit that was refused now. */
  readonly reasons: readonly string[]
  /** The state of the condition Synced if it is False. */
  readonly synced: SyncedState | undefined
  /** The id of the world, if the name of the resource is not the id of its row. */
  readonly worldId: string | undefined
  /** The row's new phase, if it shows that the pushed change took effect. */
  readonly settled: string | undefined
  /** The last writes, which share the round trip of the commit. If one of them fails, nothing is committed. */
  readonly written: Promise<unknown>
}

/** Writes the changes of a verdict to the row and marks it dirty if a push must follow. Need not wait for the last writes. */
export const recordVerdict = async <T extends Types>(
  adapter: Adapter<T>,
  deps: ReconcileDeps,
  tx: Transaction,
  { row, live, verdict }: { row: T['row']; live: T['live']; verdict: Changes<T['edit'], T['state']> },
): Promise<Recorded> => {
  const now = new Date(deps.clock.now())
  const change = { row, live, now }
  const { intent, revision } = await toIntent(adapter, deps, tx, change, verdict)
  const after = { ...row, ...intent?.columns, revision }
  const refused = verdict.is === 'merged' ? verdict : { reasons: [] }
  const { spec, metadata } = live
  const at = { liveRevision: spec.revision ?? 0, revision, generation: metadata.generation ?? 0, nowMs: now.getTime() }
  const refusal = refusalColumn(row, refused, at)
  const isAcknowledged = verdict.is === 'merged' && verdict.acknowledged
  const isEdited = verdict.is === 'merged' && verdict.edit !== undefined
  const common: CommonColumns<T['spec']> = {
    ...newestVersion(row, metadata),
    // The live spec becomes the base for the next comparison, even before the merged one is pushed.
    ...(isAcknowledged ? { applied: adapter.toBase(live, after) } : {}),
    ...refusal,
    revision,
    ...(isEdited && intent !== undefined ? { updatedAt: now } : {}),
  }
  const written = adapter.write(deps, tx, change, { common, intent, state: verdict.state })
  written.catch(() => undefined)
  const wakes = verdict.is === 'merged' ? verdict.acknowledged || verdict.pushAgain : verdict.markDeleting
  if (wakes) {
    await written
    if (verdict.is === 'leaving') await adapter.deleteContents?.(deps, tx, row)
    await markDirty(tx, { kind: adapter.kind, id: row.id, revision })
  }
  return {
    is: 'recorded',
    wakes,
    releases: verdict.is === 'leaving' && verdict.release,
    reasons: refused.reasons,
    settled: adapter.answerOf?.(row, live, verdict.state),
    written,
    synced: shownAs({ ...after, ...refusal }),
    worldId: shownWorldId(after, adapter.worldIdOf(row)),
  }
}

/** Returns what an edit or a deletion sets, with the revision of the row after it. */
const toIntent = async <T extends Types>(
  adapter: Adapter<T>,
  deps: ReconcileDeps,
  tx: Transaction,
  change: Change<T>,
  verdict: Changes<T['edit'], T['state']>,
): Promise<{ intent: T['intent'] | undefined; revision: number }> => {
  const { row } = change
  if (verdict.is === 'leaving') {
    if (!verdict.markDeleting) return { intent: undefined, revision: row.revision }
    return { intent: adapter.deletionOf(deps, row).intent, revision: row.revision + 1 }
  }
  const { edit, foreignRevision = 0 } = verdict
  const revision = Math.max(row.revision, foreignRevision)
  const intent = edit === undefined ? undefined : await adapter.toIntent(deps, tx, change, { edit, revision })
  const isChanged = intent !== undefined || (edit === undefined && foreignRevision > 0)
  return { intent, revision: isChanged ? revision + 1 : row.revision }
}

/** A change of a resource that is adopted into its row. */
export type AdoptedChange = {
  readonly kind: Kind
  readonly change: 'creation' | 'edit' | 'deletion' | 'expiry'
  /** JSON Pointers of the changed leaves of the spec. */
  readonly fields?: readonly string[]
  /** The field manager of the change. Kubernetes does not record who deletes a resource. */
  readonly editor?: string | undefined
}

type Audited = { readonly id: string; readonly organizationId: string; readonly projectId: string }

/** Writes the audit record of an adopted change, in the transaction of the change. */
export const recordAdoptedChange = (
  { clock, newId }: { readonly clock: Clock; readonly newId: NewId },
  tx: Transaction,
  row: Audited,
  { kind, change, fields = [], editor = '' }: AdoptedChange,
): Promise<void> => {
  const named = [...new Set(fields.map(withoutMapKey))].slice(0, maxFields)
  return insertAuditRecord(tx, {
    id: newId('audit'),
    createdAt: new Date(clock.now()),
    organizationId: row.organizationId,
    projectId: row.projectId,
    ...(change === 'expiry'
      ? { door: 'system', actorKind: 'system', actorId: '' }
      : { door: 'kubectl', actorKind: 'manager', actorId: editor }),
    action: `${verbs[change]}${kinds[kind].kind}`,
    resources: [row.id],
    fields: named,
    address: '',
    requestId: '',
  })
}

const maxFields = 64
const verbs = { creation: 'create', edit: 'patch', deletion: 'delete', expiry: 'delete' } as const

/** Removes the keys of metadata, which are the tenant's data and belong in no record. */
const withoutMapKey = (pointer: string): string => pointer.replace(/^(\/metadata\/[^/]+)\/.*$/, '$1')

const ownManagers: readonly (string | undefined)[] = Object.values(fieldManagers)

/** Returns the manager that last edited the resource, the API and the operator aside; '' if none is on record. */
export const readEditor = ({ managedFields = [] }: ObjectMeta): string => {
  const edits = managedFields
    .filter(({ manager, subresource }) => !subresource && !ownManagers.includes(manager))
    .sort((a, b) => String(a.time).localeCompare(String(b.time)))
  return edits.at(-1)?.manager ?? ''
}
