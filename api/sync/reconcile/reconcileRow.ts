import type { Transaction } from '#api/platform/database/client.ts'
import { readCause, readObject } from '#api/sync/clusters/deletionCause.ts'
import { hasEdits, readOwnership, type Seen } from '#api/sync/merge/merge.ts'
import { limitPutBacks } from '#api/sync/merge/observe.ts'
import { type Identity, identify, organizationOf } from '#api/sync/rows/identity.ts'
import { findRowId, isOutdated, isUnclaimed, type Kind, lostMessage } from '#api/sync/rows/synced.ts'
import { isId } from '#shared/ids.ts'
import type { Client } from '#shared/kube/client.ts'
import { type KubeObject, type ObjectMeta, objectKey } from '#shared/kube/objects.ts'
import { withDefined } from '#shared/optional.ts'
import { startSpanOf } from '#shared/resources/trace.ts'
import { finish, type Reconciled } from './finish.ts'
import type { Adapter, ReconcileDeps, Types } from './kind.ts'
import { adoptResource, deleteUnclaimed, hasApiMarks } from './newResource.ts'
import { type Facts, type Needs, type Outcome, readEditor, recordAdoptedChange, recordVerdict } from './record.ts'

/** A comparison repeats if the row changed while facts were read. */
const maxRounds = 4

/**
 * Brings a resource and its row together: reads the resource into the row, and writes what the row answers to the resource, such as
 * the condition Synced. The specs of the row are written by push alone. A resource without a row is adopted if kubectl created it.
 */
export const reconcileRow = async <T extends Types>(
  adapter: Adapter<T>,
  deps: ReconcileDeps,
  cached: T['live'],
): Promise<Reconciled> => {
  const startMs = deps.clock.now()
  let read: Read<T> = { live: cached, facts: undefined }
  for (let round = 0; round < maxRounds; round += 1) {
    const { live } = read
    const outcome = await deps.transaction((tx) => compareRow(adapter, deps, tx, read))
    if (outcome.is === 'recorded') {
      const { written, settled } = outcome
      await written
      const attributes = withDefined({ 'orrery.phase': settled })
      if (settled) startSpanOf(deps.tracing, live, `pull ${adapter.kind}`, { startMs, attributes }).end()
    }
    if (outcome.is !== 'needs') return finish(adapter, deps, live, outcome)
    const next = await readFacts(adapter, deps, read, outcome.needs)
    if (next === undefined) return { isMatched: false, result: undefined }
    read = next
  }
  throw new Error(`The resource ${objectKey(cached.metadata)} changed while it was read.`)
}

type Read<T extends Types> = { readonly live: T['live']; readonly facts: Facts | undefined }

/** Reads the facts that a comparison needs from the API server, with the resource. Undefined if the resource is gone. */
const readFacts = async <T extends Types>(
  adapter: Adapter<T>,
  deps: ReconcileDeps,
  { live, facts }: Read<T>,
  { cause, replacedUid, rival }: Needs,
): Promise<Read<T> | undefined> => {
  const { kind } = adapter
  const client = adapter.clientOf(deps)
  const read = cause
    ? await readCause(deps, client, live)
    : { live: await readObject(client, live.metadata, { managedFields: true }), cause: undefined }
  const now = read?.live
  // One name holds one object, so the uid on record is gone if the API server shows this one.
  if (now === undefined || now.metadata.uid !== live.metadata.uid) return undefined
  const other = rival ? await findRival(client, kind, now.metadata) : undefined
  if (replacedUid !== undefined) {
    await deps.gate.check({ fresh: true })
    const { uid } = now.metadata
    deps.log.warn(
      { [kind]: objectKey(now.metadata), uid, replacedUid },
      'pull: the recorded resource was replaced by another with the same name',
    )
  }
  const known = { owns: readOwnership(now.metadata), editor: readEditor(now.metadata) }
  return { live: now, facts: { ...facts, ...known, ...withDefined({ cause: read?.cause, replacedUid, rival: other }) } }
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

/** Compares a resource with its row in a transaction. A resource without a row is adopted if kubectl created it. */
const compareRow = async <T extends Types>(
  adapter: Adapter<T>,
  deps: ReconcileDeps,
  tx: Transaction,
  { live, facts }: Read<T>,
): Promise<Outcome> => {
  let seen: Seen<T['live']> | undefined
  const see = (): Seen<T['live']> => {
    seen ??= { ...adapter.read(live), owns: facts?.owns }
    return seen
  }
  const organizationId = organizationOf(deps.namespacePrefix, live.metadata.namespace)
  const id = await findRowId(tx, adapter.kind, { ...live.metadata, organizationId, cluster: deps.cluster })
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

type OwnIdentity = Exclude<Identity, 'stranger'>

type Compared<T extends Types> = {
  readonly row: T['row']
  readonly isDirty: boolean
  readonly identity: OwnIdentity
  readonly seen: Seen<T['live']>
  readonly facts: Facts | undefined
}

/** Decides and writes the changes that the resource makes to its row, with the audit record of what the row adopts. */
const merge = async <T extends Types>(
  adapter: Adapter<T>,
  deps: ReconcileDeps,
  tx: Transaction,
  { row, isDirty, identity, seen, facts }: Compared<T>,
): Promise<Outcome> => {
  const { kind } = adapter
  const live = seen.resource
  const sides = adapter.sidesOf(row, seen)
  const { deletionTimestamp, generation = 0 } = live.metadata
  const isEdited = sides !== undefined && deletionTimestamp === undefined && row.deletingAt === null && hasEdits(sides)
  const needs = findNeeds(row, live, { identity, facts, hasBase: sides !== undefined, hasEdits: isEdited })
  if (sides === undefined || needs !== undefined) return { is: 'needs', needs: needs ?? {} }
  const lost = facts?.cause?.isIntended === false ? lostMessage(facts.cause.reason) : undefined
  const rulesFacts = isEdited ? await adapter.readFacts(deps, tx, row) : undefined
  const decided = adapter.observe(row, seen, isDirty, { facts: rulesFacts, sides, lost })
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
