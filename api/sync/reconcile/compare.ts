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
      await deleteUnclaimed(adapter, deps, tx, row)
      const outcome = await adoptResource(adapter, deps, tx, { live, facts })
      return outcome.is === 'alone' ? { is: 'passed' } : outcome
    }
    if (isOutdated(row, live.metadata)) return { is: 'passed' }
    if (row.removedAt !== null && live.metadata.deletionTimestamp === undefined) return { is: 'orphan' }
  }
  return merge(adapter, deps, tx, { ...locked, identity, seen: see(), facts })
}

/** Decides and writes the changes that the resource makes to its row, with the audit record of what the row adopts. */
const merge = async <T extends Types>(
  adapter: Adapter<T>,
  deps: ReconcileDeps,
  tx: Transaction,
  {
    row,
    isDirty,
    identity,
    seen,
    facts,
  }: {
    row: T['row']
    isDirty: boolean
    identity: OwnIdentity
    seen: Seen<T['live']>
    facts: Facts | undefined
  },
): Promise<Outcome> => {
  const { kind } = adapter
  const live = seen.resource
  const sides = adapter.sidesOf(row, seen)
  const { deletionTimestamp, generation = 0 } = live.metadata
  const edits = sides !== undefined && deletionTimestamp === undefined && row.deletingAt === null && hasEdits(sides)
  const needs = findNeeds(row, live, { identity, facts, hasBase: sides !== undefined, hasEdits: edits })
  if (needs !== undefined) return { is: 'needs', needs }
  const lost = facts?.cause?.isIntended === false ? facts.cause.reason : undefined
  const rulesFacts = edits ? await adapter.readFacts(deps, tx, row) : undefined
  const decided = adapter.observe(row, seen, isDirty, { facts: rulesFacts, sides, lost })
  if (decided.is === 'unread') return { is: 'needs', needs: {} }
  if (decided.is === 'frozen') return { is: 'frozen' }
  const { refusal } = row
  const verdict =
    decided.is === 'leaving' ? decided : limitPutBacks(decided, { refusal, generation, nowMs: deps.clock.now() })
  const fields = verdict.is === 'merged' ? verdict.adopted : []
  if (fields.length > 0 && facts === undefined) return { is: 'needs', needs: {} }
  const outcome = await recordVerdict(adapter, deps, tx, { row, live, verdict })
  if (verdict.is === 'leaving' && verdict.markDeleting) {
    await recordAdoptedChange(deps, tx, row, { kind, change: adapter.deletionOf(deps, row).change })
  }
  if (fields.length > 0)
    await recordAdoptedChange(deps, tx, row, { kind, change: 'edit', fields, editor: facts?.editor })
  return outcome
}

type OwnIdentity = Exclude<Identity, 'stranger'>

/** Returns the facts that a comparison of a resource with its row needs, or undefined if it needs none in addition to `facts`. */
export const findNeeds = (
  row: NeedingRow,
  { metadata, spec }: Pick<Types['live'], 'metadata' | 'spec'>,
  known: {
    readonly identity: OwnIdentity
    readonly facts: Pick<Facts, 'cause'> | undefined
    readonly hasBase: boolean
    readonly hasEdits: boolean
  },
): Needs | undefined => {
  const { identity, facts, hasBase, hasEdits: edits } = known
  // The row does not know of the deletion yet, so the cause decides about the row.
  const isNews = metadata.deletionTimestamp !== undefined && row.deletingAt === null && row.targetCluster === null
  const cause = isNews ? ({ cause: true } as const) : {}
  if (identity === 'successor')
    return { ...cause, replacedUid: row.resourceUid ?? '', ...(isReplaceable(row) ? { rival: true } : {}) }
  if (isNews && facts?.cause === undefined) return cause
  const isAhead = (spec.revision ?? 0) > row.revision
  // An edit is adopted with its author. After a refusal the next edit is probably refused too, and needs no author.
  const needsFields = !hasBase || isAhead || (edits && row.refusal === null)
  return facts === undefined && needsFields ? {} : undefined
}

type NeedingRow = Pick<
  Types['row'],
  'id' | 'revision' | 'refusal' | 'deletingAt' | 'targetCluster' | 'resourceUid' | 'resourceName' | 'applied'
>

/** Reports whether a resource that replaces the one on record gets a row of its own. */
const isReplaceable = (row: Pick<Types['row'], 'id' | 'resourceName' | 'resourceUid' | 'applied'>): boolean =>
  isUnclaimed(row) && row.resourceName !== row.id

/**
 * Reports whether the API made a resource that is not the row's before the row moved to another cluster: by a request in progress,
 * or in a backup of the cluster. Its revision is then lower than that of the row.
 */
const isLeftover = (row: Types['row'], live: Types['live'], cluster: string): boolean =>
  row.cluster !== cluster && hasApiMarks(live) && (live.spec.revision ?? 0) < row.revision
