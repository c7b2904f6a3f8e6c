import { toDeletion } from '#api/domain/deletion/deletion.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { Problem } from '#api/platform/http/problem.ts'
import { organizationOf } from '#api/sync/rows/identity.ts'
import { readOwner, type SyncedRow } from '#api/sync/rows/synced.ts'
import { type KubeObject, objectKey } from '#shared/kube/objects.ts'
import { apiFinalizer, isPaused, labels } from '#shared/resources/group.ts'
import type { SyncedReason } from '#shared/why/remedies.ts'
import type { Adapter, ReconcileDeps, Types } from './kind.ts'
import { type Facts, type Outcome, type Recorded, recordAdoptedChange, recordVerdict } from './record.ts'
import type { SyncedState } from './syncedCondition.ts'

/** The reason why a new resource cannot be adopted. It rolls the transaction of the adoption back. */
export class NotAdopted extends Error {
  override name = 'NotAdopted'
  readonly state: SyncedState

  constructor(reason: SyncedReason, message: string) {
    super(message)
    this.state = { status: 'False', reason, message: message.slice(0, 4_096) }
  }
}

/** Reports whether a resource was created with kubectl and may be adopted. Marks of the API belong to an orphan. */
export const isNewResource = (live: KubeObject): boolean =>
  live.metadata.deletionTimestamp === undefined && !isPaused(live) && !hasApiMarks(live)

/**
 * Reports whether the API made a resource, or has had a row for it. A revision is not such a mark: anyone may write one in the
 * spec of a new resource, and its row continues above it.
 */
export const hasApiMarks = ({ metadata }: Pick<KubeObject, 'metadata'>): boolean =>
  metadata.finalizers?.includes(apiFinalizer) === true || metadata.labels?.[labels.managedBy] === 'orrery-api'

/** Adopts a resource that kubectl created in the namespace of an organization. The outcome is `alone` if it may not be adopted. */
export const adoptResource = async <T extends Types>(
  adapter: Adapter<T>,
  deps: ReconcileDeps,
  tx: Transaction,
  { live, facts }: { live: T['live']; facts: Facts | undefined },
): Promise<Outcome> => {
  const organizationId = organizationOf(deps.namespacePrefix, live.metadata.namespace)
  if (organizationId === undefined || !isNewResource(live)) return { is: 'alone' }
  const owner = await readOwner(tx, organizationId)
  if (owner === 'unknown') return { is: 'alone' }
  if (owner === 'deleted') return { is: 'notAdopted', state: organizationDeleted }
  if (facts === undefined) return { is: 'needs', needs: { rival: true } }
  try {
    const outcome = await tx.savepoint(() => insertAndMerge(adapter, deps, tx, { organizationId, live, facts }))
    deps.log.info(
      { resource: objectKey(live.metadata) },
      `pull: adopted a ${adapter.kind} resource that kubectl created`,
    )
    return outcome
  } catch (error) {
    return { is: 'notAdopted', state: toState(error) }
  }
}

/** Adds the row of a new resource, with the defaults of REST, and merges the resource into it. Throws if a field would be refused. */
const insertAndMerge = async <T extends Types>(
  adapter: Adapter<T>,
  deps: ReconcileDeps,
  tx: Transaction,
  { organizationId, live, facts }: { organizationId: string; live: T['live']; facts: Facts },
): Promise<Recorded> => {
  const { kind } = adapter
  const { resource, unreadable } = adapter.read(live)
  const { metadata, spec } = resource
  if (facts.rival !== undefined) {
    // The other one may have lost its row, as after a restore of the database, and is then the rightful owner of the id.
    const message = `The name ${metadata.name} is an id that another resource has. Choose another name.`
    throw new NotAdopted('NotAdopted', message)
  }
  const row = await adapter.insert(deps, tx, { organizationId, metadata, spec })
  const named = await adapter.toNew(deps, tx, row, resource)
  const seen = { resource: named, unreadable, owns: facts.owns }
  const sides = adapter.sidesOf(row, seen)
  const verdict = sides && adapter.observe(row, seen, false, { facts: await adapter.readFacts(deps, tx, row), sides })
  if (verdict?.is !== 'merged') throw new NotAdopted('NotAdopted', 'The resource has the highest possible revision.')
  if (verdict.reasons.length > 0) throw new NotAdopted('NotAdopted', explainNotAdopted(verdict.reasons))
  const { editor } = facts
  await recordAdoptedChange(deps, tx, row, { kind, change: 'creation', fields: verdict.adopted, editor })
  const made = { row, live: resource, verdict: { ...verdict, acknowledged: true } }
  const outcome = await recordVerdict(adapter, deps, tx, made)
  await outcome.written
  return outcome
}

/** Marks a row as deleting if its adopted resource was deleted before the first push added the finalizer. */
export const deleteUnclaimed = async <T extends Types>(
  { kind, markDeleting }: Adapter<T>,
  deps: Pick<ReconcileDeps, 'clock' | 'keepDeletedMs' | 'newId'>,
  tx: Transaction,
  row: SyncedRow,
): Promise<void> => {
  await markDeleting(tx, row, toDeletion(deps))
  await recordAdoptedChange(deps, tx, row, { kind, change: 'deletion' })
}

/** The state of a new resource in the namespace of a deleted organization. */
const { state: organizationDeleted } = new NotAdopted(
  'OrganizationDeleted',
  'The organization was deleted. The resource is not adopted, and nothing runs in its namespace.',
)

/** Returns why a resource is not adopted. A limit of REST is a reason too. Throws any other error again. */
const toState = (error: unknown): SyncedState => {
  if (error instanceof NotAdopted) return error.state
  if (error instanceof Problem) return new NotAdopted('LimitReached', error.message).state
  throw error
}

/** Returns the message for a new resource with these refused fields. It is left as it is. */
const explainNotAdopted = (reasons: readonly string[]): string =>
  reasons.join(' ').replaceAll(/ (?:cannot be read and )?(was|were) put back: /g, ' $1 refused: ')
