import { isDeepStrictEqual } from 'node:util'
import type { Refusal } from '#api/domain/worlds/table.ts'
import type { ObjectMeta } from '#shared/kube/objects.ts'
import { withDefined } from '#shared/optional.ts'
import { leavesOf } from './leaves.ts'
import { findBase, type Merge, type Owns, type Revisioned, type Seen, type Sides } from './merge.ts'

/**
 * The decision about a live resource and its row. `frozen`: the resource has a higher revision than the row, as after a restore of the
 * database. Nothing is written then.
 */
export type Verdict<Edit, State> = { readonly is: 'frozen' } | Changes<Edit, State>

/**
 * The changes to a row that follow from a live resource. All are applied in one transaction. `Edit` is the part of the row that an
 * adopted edit changes, `State` what the status of the resource says.
 */
export type Changes<Edit, State> = Leaving<State> | Merged<Edit, State>

/** The decision about a resource that is being deleted. */
type Leaving<State> = {
  readonly is: 'leaving'
  readonly state: State
  /** The resource was deleted with kubectl, which deletes the row. */
  readonly markDeleting: boolean
  /** The deletion is recorded and no pod is left, so the API's finalizer can be removed. */
  readonly release: boolean
}

/** The comparison of the specs of a resource and its row. */
type Merged<Edit, State> = {
  readonly is: 'merged'
  readonly state: State
  /** The row with the adopted leaves, if there are any. */
  readonly edit?: Edit
  /** JSON Pointers of the adopted leaves. */
  readonly adopted: readonly string[]
  /** The revision that others set. The row continues above it. */
  readonly foreignRevision?: number
  /** The live spec was merged: it is the base of the next comparison. */
  readonly acknowledged: boolean
  /** A sentence for each edit that was refused. */
  readonly reasons: readonly string[]
  /** The refused edits stay in the resource. */
  readonly isLeft?: boolean
  /** The resource differs from the row, and no push is pending. */
  readonly pushAgain: boolean
}

/** The rules by which the resources of a kind are merged into their rows. */
type Rules<Row, Live, Spec, Facts, Edit, State> = {
  /** Returns the spec that the row pushes. */
  readonly toSpec: (row: Row) => Spec
  readonly merge: (sides: Sides<Spec>, row: Row, facts: Facts) => Merge<Spec>
  readonly toEdit: (merge: Merge<Spec>, facts: Facts) => Edit
  readonly isDrained: (live: Live) => boolean
  /** Returns what the status says about the row. */
  readonly readState: (row: Row, live: Live) => State
  /** The spec of a resource without any field. */
  readonly empty: Spec
  /** The state of a status that says nothing about the row. */
  readonly noState: State
  /** Returns the state with another status message for the row. */
  readonly withMessage: (state: State, message: string) => State
}

type RowOf<Spec> = {
  readonly revision: number
  readonly resourceUid: string | null
  readonly appliedResourceVersion: string | null
  readonly targetCluster: string | null
  readonly deletingAt: Date | null
  readonly applied: Spec | null
}

type LiveOf<Spec> = { readonly metadata: ObjectMeta; readonly spec: Spec }

/** Returns the decisions about the resources of a kind. */
export const createObserve = <
  Row extends RowOf<Spec>,
  Live extends LiveOf<Spec>,
  Spec extends Revisioned & object,
  Facts extends object,
  Edit,
  State,
>(
  rules: Rules<Row, Live, Spec, Facts, Edit, State>,
) => {
  /** The grant of a row is for the live resource, whichever uid is on record. */
  const withUidOf = (row: Row, { resource }: Seen<Live>): Row => ({
    ...row,
    resourceUid: resource.metadata.uid ?? row.resourceUid,
  })
  const defaults = leavesOf(rules.empty)
  /**
   * Returns whether the definition dropped a leaf: the API still manages it, and it is absent or has its default. A webhook that changes
   * what the API writes leaves the API the manager too, but sets another value.
   */
  const findDropped = ({ resource, owns }: Seen<Live>): Sides<Spec>['isDropped'] => {
    if (owns === undefined) return undefined
    const leaves = leavesOf(resource.spec)
    return (pointer) =>
      owns(pointer) && (!leaves.has(pointer) || isDeepStrictEqual(leaves.get(pointer), defaults.get(pointer)))
  }
  /** Returns the sides of the merge, or undefined if the managed fields of the resource must be read first. */
  const sidesOf = (row: Row, seen: Seen<Live>): Sides<Spec> | undefined => {
    const sides = { row: rules.toSpec(withUidOf(row, seen)), live: seen.resource.spec }
    const base = findBase({ ...sides, applied: row.applied }, seen.owns)
    // A recovered row has no version on record. It adopts what the API wrote before.
    const isDropped = row.appliedResourceVersion === null ? undefined : findDropped(seen)
    return base && { ...sides, base, unreadable: seen.unreadable, ...withDefined({ isDropped }) }
  }

  const compare = (
    row: Row,
    seen: Seen<Live>,
    { sides, dirty, facts }: { sides: Sides<Spec>; dirty: boolean; facts: Facts | undefined },
  ): Omit<Merged<Edit, State>, 'state'> => {
    const live = seen.resource.spec
    const merge = facts && rules.merge(sides, withUidOf(row, seen), facts)
    const { spec, adopted, putBack, reasons } = merge ?? { spec: sides.row, adopted: [], putBack: [], reasons: [] }
    const liveRevision = live.revision ?? 0
    const isAhead = liveRevision > row.revision
    return {
      is: 'merged',
      ...(merge && adopted.length > 0 ? { edit: rules.toEdit(merge, facts) } : {}),
      adopted,
      ...(isAhead ? { foreignRevision: liveRevision } : {}),
      acknowledged: adopted.length + putBack.length > 0 || isAhead,
      reasons,
      pushAgain: !dirty && !isDeepStrictEqual(live, spec),
    }
  }

  /**
   * Compares a live resource with its row and decides the changes to the row. `dirty` is true if a push is pending. `facts` are needed
   * only if there are edits. `lost` is the status message if the resource is deleted with its namespace or definition; the row is not
   * deleted then. The deletion of a resource is also handled while its row is frozen, since it would block that of its namespace or
   * definition.
   */
  const observe = (
    row: Row,
    seen: Seen<Live>,
    dirty: boolean,
    { facts, lost, sides }: { facts?: Facts | undefined; lost?: string | undefined; sides: Sides<Spec> },
  ): Verdict<Edit, State> => {
    const { resource: live, owns } = seen
    const isDeleting = live.metadata.deletionTimestamp !== undefined
    const isFrozen = isFrozenAt(live.spec.revision ?? 0, row, owns)
    if (isFrozen && !isDeleting) return { is: 'frozen' }
    // A frozen row knows nothing of the run that the status reports.
    const state = isFrozen ? rules.noState : rules.readState(row, live)
    if (isDeleting) {
      const isExpected = row.deletingAt !== null || row.targetCluster !== null
      const isLost = !isExpected && lost !== undefined
      return {
        is: 'leaving',
        state: isLost ? rules.withMessage(state, lost) : state,
        markDeleting: !isExpected && !isLost,
        release: rules.isDrained(live),
      }
    }
    return { state, ...(row.deletingAt === null ? compare(row, seen, { sides, dirty, facts }) : unmerged) }
  }
  return { sidesOf, observe }
}

const unmerged = { is: 'merged', adopted: [], acknowledged: false, reasons: [], pushAgain: false } as const

/** Reports whether the API wrote a revision above that of the row, or whether the revision is the highest possible. */
const isFrozenAt = (revision: number, row: { readonly revision: number }, owns: Owns | undefined): boolean =>
  revision > row.revision && (owns?.('/revision') === true || revision >= Number.MAX_SAFE_INTEGER)

/** Reports whether columns have other values than the row. */
export const hasChanges = <Row extends object>(row: Row, columns: Partial<Row>): boolean =>
  Object.keys(columns).some((name) => !isDeepStrictEqual(row[name as keyof Row], columns[name as keyof Row]))

/** The number of times in `windowMs` that refused edits of a resource are put back. */
const maxPutBacks = 3
const windowMs = 60_000

type Refused = Pick<
  Merged<unknown, unknown>,
  'reasons' | 'acknowledged' | 'pushAgain' | 'edit' | 'foreignRevision' | 'isLeft'
>

/**
 * Returns the verdict, or one that leaves a refused edit in the resource: a tool that writes its edit again after each refusal would
 * otherwise write against the API without end. A change of the resource, or of what refused the edit, is decided anew.
 */
export const limitPutBacks = <Verdict extends Refused>(
  verdict: Verdict,
  { refusal, generation, nowMs }: { refusal: Refusal | null; generation: number; nowMs: number },
): Verdict => {
  if (verdict.reasons.length === 0 || verdict.edit !== undefined || verdict.foreignRevision !== undefined)
    return verdict
  if (refusal?.isLeft && refusal.generation === generation) return { ...verdict, ...left, reasons: [] }
  return recentOf(refusal, nowMs).length < maxPutBacks ? verdict : { ...verdict, ...left, isLeft: true }
}

/** Nothing of the resource is written or taken as the next base. */
const left = { acknowledged: false, pushAgain: false } as const

const recentOf = (refusal: Refusal | null, nowMs: number): number[] =>
  (refusal?.putBackAtMs ?? []).filter((atMs) => nowMs - atMs < windowMs)

/** Returns the column with the last refusal. A later revision in the cluster clears it. */
export const refusalColumn = (
  row: { readonly refusal: Refusal | null },
  { reasons, isLeft = false }: Pick<Refused, 'reasons' | 'isLeft'>,
  at: { liveRevision: number; revision: number; generation: number; nowMs: number },
): { refusal?: Refusal | null } => {
  const { revision, generation, nowMs } = at
  if (reasons.length === 0)
    return row.refusal !== null && at.liveRevision > row.refusal.revision ? { refusal: null } : {}
  const putBackAtMs = [...recentOf(row.refusal, nowMs), ...(isLeft ? [] : [nowMs])]
  return { refusal: { revision, message: reasons.join(' '), generation, putBackAtMs, isLeft } }
}
