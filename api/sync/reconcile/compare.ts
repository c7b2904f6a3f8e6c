import type { Transaction } from '#api/platform/database/client.ts'
import type { Seen } from '#api/sync/merge/merge.ts'
import { hasEdits } from '#api/sync/merge/merge.ts'
import { limitPutBacks } from '#api/sync/merge/observe.ts'
import { type Identity, identify, organizationOf } from '#api/sync/rows/identity.ts'
import { findRowId, isOutdated, isUnclaimed } from '#api/sync/rows/synced.ts'
import type { Adapter, ReconcileDeps, Types } from './kind.ts'
import { adoptResource, deleteUnclaimed, hasApiMarks } from './newResource.ts'
import { type Facts, type Needs, type Outcome, recordAdoptedChange, recordVerdict } from './record.ts'

/** Compares a resource with its row in a transaction. A resource without a row is adopted if kubectl created it. */
export const compareRow = async <T extends Types>(
  adapter: Adapter<T>,
  deps: ReconcileDeps,
  tx: Transaction,
  { live, facts }: { live: T['live']; facts: Facts | undefined },
): Promise<Outcome> => {
  const { kind } = adapter
  let read: Seen<T['live']> | undefined
  const see = (): Seen<T['live']> => {
    read ??= { ...adapter.read(live), owns: facts?.owns }
    return read
  }
  const organizationId = organizationOf(deps.namespacePrefix, live.metadata.namespace)
  const id = await findRowId(tx, kind, { ...live.metadata, organizationId, cluster: deps.cluster })
  const locked = id === undefined ? undefined : await adapter.lock(tx, id, see)
  if (locked === undefined) return adoptResource(adapter, deps, tx, { live, facts })
  const { row } = locked
  const identity = identify(row, live.metadata, { ...deps, replacedUid: facts?.replacedUid })
  if (identity === 'stranger') return { is: isLeftover(row, live, deps.cluster) ? 'leftover' : 'stranger' }
  if (identity === 'own') {
    if (facts?.replacedUid !== undefined && isReplaceable(row)) {
      await deleteUnclaimed(deps, tx, kind, row)
      const outcome = await adoptResource(adapter, deps, tx, { live, facts })
      return outcome.is === 'alone' ? { is: 'passed' } : outcome
    }
    if (isOutdated(row, live.metadata)) return { is: 'passed' }
    if (row.removedAt !== null && live.metadata.deletionTimestamp === undefined) return { is: 'orphan' }
  }
  const needs = findNeeds(row, live, { identity, facts })
  if (needs !== undefined) return { is: 'needs', needs }
  return merge(adapter, deps, tx, { ...locked, seen: see(), facts })
}

/** Decides and writes the changes that the resource makes to its row, with the audit record of what the row adopts. */
const merge = async <T extends Types>(
  adapter: Adapter<T>,
  deps: ReconcileDeps,
  tx: Transaction,
  { row, isDirty, seen, facts }: { row: T['row']; isDirty: boolean; seen: Seen<T['live']>; facts: Facts | undefined },
): Promise<Outcome> => {
  const { kind } = adapter
  const sides = adapter.sidesOf(row, seen)
  const { deletionTimestamp, generation = 0 } = seen.resource.metadata
  const edits = sides !== undefined && deletionTimestamp === undefined && row.deletingAt === null && hasEdits(sides)
  // An edit is adopted with its author. One that was refused before will probably be refused again.
  const needsAuthor = edits && row.refusal === null
  const isAhead = (seen.resource.spec.revision ?? 0) > row.revision
  if (facts === undefined && (sides === undefined || needsAuthor || isAhead)) return unread
  const lost = facts?.cause?.isIntended === false ? facts.cause.reason : undefined
  const decided = await adapter.decide(deps, tx, row, { seen, sides, hasEdits: edits, isDirty, lost })
  if (decided.is === 'unread') return unread
  if (decided.is === 'frozen') return { is: 'frozen' }
  const { refusal } = row
  const verdict =
    decided.is === 'leaving' ? decided : limitPutBacks(decided, { refusal, generation, nowMs: deps.clock.now() })
  const fields = verdict.is === 'merged' ? verdict.adopted : []
  if (fields.length > 0 && facts === undefined) return unread
  const outcome = await recordVerdict(adapter, deps, tx, { row, live: seen.resource, verdict })
  if (verdict.is === 'leaving' && verdict.markDeleting) {
    await recordAdoptedChange(deps, tx, row, { kind, change: adapter.deletionOf(deps, row).change })
  }
  if (fields.length > 0)
    await recordAdoptedChange(deps, tx, row, { kind, change: 'edit', fields, editor: facts?.editor })
  return outcome
}

/** The managed fields of the resource must be read. */
const unread: Outcome = { is: 'needs', needs: {} }

/** Returns the facts that a comparison of a resource with its row needs beside the managed fields, or undefined if it has them. */
export const findNeeds = (
  row: Pick<Types['row'], 'id' | 'deletingAt' | 'targetCluster' | 'resourceUid' | 'resourceName' | 'applied'>,
  { metadata }: Pick<Types['live'], 'metadata'>,
  { identity, facts }: { identity: Exclude<Identity, 'stranger'>; facts: Pick<Facts, 'cause'> | undefined },
): Needs | undefined => {
  // The deletion is new to the row, so its cause decides about the row.
  const isNews = metadata.deletionTimestamp !== undefined && row.deletingAt === null && row.targetCluster === null
  const cause = isNews ? ({ cause: true } as const) : {}
  if (identity === 'successor')
    return { ...cause, replacedUid: row.resourceUid ?? '', ...(isReplaceable(row) ? { rival: true } : {}) }
  return isNews && facts?.cause === undefined ? cause : undefined
}

/** Reports whether a resource that replaces the one on record is another one, whose row is another one too. */
const isReplaceable = (row: Pick<Types['row'], 'id' | 'resourceName' | 'resourceUid' | 'applied'>): boolean =>
  isUnclaimed(row) && row.resourceName !== row.id

/**
 * Reports whether the API made a resource that is not the row's before the row moved to another cluster: by a request in progress,
 * or in a backup of the cluster. Its revision is then lower than that of the row.
 */
const isLeftover = (row: Types['row'], live: Types['live'], cluster: string): boolean =>
  row.cluster !== cluster && hasApiMarks(live) && (live.spec.revision ?? 0) < row.revision
