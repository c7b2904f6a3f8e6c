import type { Refusal } from '#api/domain/worlds/table.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import type { DeletionCause } from '#api/sync/clusters/deletionCause.ts'
import type { Seen } from '#api/sync/merge/base.ts'
import { limitPutBacks } from '#api/sync/merge/putBack.ts'
import type { VerdictOf } from '#api/sync/merge/verdict.ts'
import { identify, organizationOf } from '#api/sync/rows/identity.ts'
import { findRowId, isOutdated, isUnclaimed, type Kind, type SyncedRow } from '#api/sync/rows/synced.ts'
import { type KubeObject, objectKey } from '#shared/kube/objects.ts'
import type { Readable } from '#shared/resources/read.ts'
import { type AdoptedChange, recordAdoptedChange } from './auditTrail.ts'
import { deleteUnclaimed } from './gone.ts'
import {
  explainNotAdopted,
  hasApiMarks,
  isNewResource,
  NotAdopted,
  organizationDeleted,
  refuseRivalId,
  tryAdoption,
} from './newResource.ts'
import { readOwner } from './ownership.ts'
import type { ApplyObservation, Facts, Outcome } from './pull.ts'
import type { PullDeps } from './pullDeps.ts'

type Resource = KubeObject & { readonly spec: { readonly revision?: number } }
type Row = SyncedRow & { readonly removedAt: Date | null; readonly refusal: Refusal | null }

/** The steps of pull that differ between worlds and bot deployments. */
export type PullSteps<Live, R, Verdict> = {
  readonly kind: Kind
  /** Returns the resource without the fields that the schema refuses. */
  readonly read: (live: Live) => Readable<Live>
  /** Returns the row, locked until the end of the transaction, and reports whether a push of it is pending. */
  readonly lock: (
    tx: Transaction,
    id: string,
    see: () => Seen<Live>,
  ) => Promise<{ readonly row: R; readonly isDirty: boolean } | undefined>
  /** Adds the row of a resource that kubectl created. Returns it with the resource to merge into it. */
  readonly insert: (
    deps: PullDeps,
    tx: Transaction,
    made: { readonly organizationId: string; readonly live: Live },
  ) => Promise<{ readonly row: R; readonly live: Live }>
  /** Compares the resource with its row. `lost` is the reason of an unintended deletion. */
  readonly decide: (
    deps: PullDeps,
    tx: Transaction,
    row: R,
    input: { readonly seen: Seen<Live>; readonly isDirty: boolean; readonly lost?: string | undefined },
  ) => Promise<Verdict>
  /** Writes the changes of a verdict to the row and marks it dirty if a push must follow. Need not wait for the last writes. */
  readonly record: (deps: PullDeps, tx: Transaction, row: R, live: Live, verdict: Verdict) => Promise<Outcome>
  /** Returns the change to audit when a deleted resource deletes its row. */
  readonly deletionOf: (deps: PullDeps, row: R) => AdoptedChange['change']
}

/** Returns the comparison of a resource of one kind with its row. A resource without a row is adopted if kubectl created it. */
export const createObservation =
  <Live extends Resource, R extends Row, Verdict extends VerdictOf<unknown, unknown>>(
    steps: PullSteps<Live, R, Verdict>,
  ): ApplyObservation<Live> =>
  async (deps, tx, live, facts) => {
    const { kind } = steps
    let read: Seen<Live> | undefined
    const see = (): Seen<Live> => {
      read ??= { ...steps.read(live), owns: facts.owns }
      return read
    }
    const organizationId = organizationOf(deps.namespacePrefix, live.metadata.namespace)
    const id = await findRowId(tx, kind, { ...live.metadata, organizationId, cluster: deps.cluster })
    const locked = id === undefined ? undefined : await steps.lock(tx, id, see)
    if (locked === undefined) return adopt(steps, deps, tx, { live, facts })
    const { row } = locked
    const { replacedUid } = facts
    const identity = identify(row, live.metadata, { ...deps, replacedUid })
    if (identity === 'stranger') return classifyStranger(row, live, deps.cluster)
    if (identity === 'successor') return { replacedUid: row.resourceUid }
    if (replacedUid !== undefined && isUnclaimed(row) && row.resourceName !== row.id) {
      await deleteUnclaimed(deps, tx, kind, row)
      return { ...(await adopt(steps, deps, tx, { live, facts })), wake: true }
    }
    if (isOutdated(row, live.metadata)) return {}
    if (row.removedAt !== null && live.metadata.deletionTimestamp === undefined) return { orphan: true }
    if (needsCause(row, live, facts.cause)) return { needsCause: true }
    return merge(steps, deps, tx, { ...locked, seen: see(), facts })
  }

/** Decides and writes the changes that the resource makes to its row, with the audit record of what the row adopts. */
const merge = async <Live extends Resource, R extends Row, Verdict extends VerdictOf<unknown, unknown>>(
  steps: PullSteps<Live, R, Verdict>,
  deps: PullDeps,
  tx: Transaction,
  { row, isDirty, seen, facts }: { row: R; isDirty: boolean; seen: Seen<Live>; facts: Facts },
): Promise<Outcome> => {
  const { kind } = steps
  const { cause, editor } = facts
  const verdict = limitPutBacks(await steps.decide(deps, tx, row, { seen, isDirty, lost: reasonOf(cause) }), {
    refusal: row.refusal,
    generation: seen.resource.metadata.generation ?? 0,
    nowMs: deps.clock.now(),
  })
  if (verdict.frozen) return { frozen: true }
  if (verdict.needsOwnership || needsEditor(verdict, editor)) return { needsOwnership: true }
  const outcome = await steps.record(deps, tx, row, seen.resource, verdict)
  if (verdict.markDeleting) {
    await recordAdoptedChange(deps, tx, row, { kind, change: steps.deletionOf(deps, row) })
  } else if (verdict.adopted !== undefined) {
    await recordAdoptedChange(deps, tx, row, { kind, change: 'edit', fields: verdict.adopted, editor })
  }
  return outcome
}

/** Adopts a resource that kubectl created in the namespace of an organization. Undefined if it may not be adopted. */
const adopt = async <Live extends Resource, R extends Row, Verdict extends VerdictOf<unknown, unknown>>(
  steps: PullSteps<Live, R, Verdict>,
  deps: PullDeps,
  tx: Transaction,
  { live, facts: { editor, rival } }: { live: Live; facts: Facts },
): Promise<Outcome | undefined> => {
  const { kind } = steps
  const organizationId = organizationOf(deps.namespacePrefix, live.metadata.namespace)
  if (organizationId === undefined || !isNewResource(live)) return undefined
  const owner = await readOwner(tx, deps.namespacePrefix, live.metadata.namespace)
  if (owner === 'unknown') return undefined
  if (owner === 'deleted') return { notAdopted: organizationDeleted }
  if (editor === undefined) return { needsOwnership: true, needsRival: true }
  const { resource, unreadable } = steps.read(live)
  const result = await tryAdoption(() =>
    tx.savepoint(async (): Promise<Outcome> => {
      refuseRivalId(resource.metadata, rival)
      const { row, live: named } = await steps.insert(deps, tx, { organizationId, live: resource })
      const seen = { resource: named, unreadable }
      const verdict = await steps.decide(deps, tx, row, { seen, isDirty: false })
      if (verdict.reasons.length > 0) throw new NotAdopted('NotAdopted', explainNotAdopted(verdict.reasons))
      await recordAdoptedChange(deps, tx, row, { kind, change: 'creation', fields: verdict.adopted ?? [], editor })
      const outcome = await steps.record(deps, tx, row, resource, { ...verdict, acknowledged: true })
      await outcome.written
      return outcome
    }),
  )
  if ('status' in result) return { notAdopted: result }
  deps.log.info({ resource: objectKey(resource.metadata) }, `pull: adopted a ${kind} resource that kubectl created`)
  return result
}

/**
 * Returns the outcome for a resource that is not the row's. It is a leftover if the API made it before the row moved to another
 * cluster: by a request in progress, or in a backup of the cluster. Its revision is then lower than that of the row.
 */
const classifyStranger = (row: Pick<SyncedRow, 'cluster' | 'revision'>, live: Resource, cluster: string): Outcome =>
  row.cluster !== cluster && hasApiMarks(live) && (live.spec.revision ?? 0) < row.revision
    ? { leftover: true }
    : { stranger: true }

/** Reports whether the deletion of a resource is new to its row, so that its cause decides about the row. */
const needsCause = (
  row: Pick<SyncedRow, 'deletingAt' | 'targetCluster'>,
  { metadata }: KubeObject,
  cause: DeletionCause | undefined,
): boolean =>
  metadata.deletionTimestamp !== undefined &&
  row.deletingAt === null &&
  row.targetCluster === null &&
  cause === undefined

/** Returns the reason of an unintended deletion. */
const reasonOf = (cause: DeletionCause | undefined): string | undefined =>
  cause?.isIntended === false ? cause.reason : undefined

/** Reports whether a verdict takes over an edit whose author was not read yet. */
const needsEditor = ({ adopted }: { readonly adopted?: readonly string[] }, editor: string | undefined): boolean =>
  adopted !== undefined && editor === undefined
