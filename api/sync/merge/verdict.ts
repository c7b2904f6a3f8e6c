/**
 * The changes to a row that follow from a live resource, for either kind. `Edit` is the part of the row that an adopted edit
 * changes, `Observed` the columns of its observed state. All changes are applied in one transaction.
 */
export type VerdictOf<Edit, Observed> = {
  /** The resource has a higher revision than the row, as after a restore of the database. Nothing is written. */
  readonly frozen?: true
  /** The decision needs to know which fields the API manages. Nothing is written. */
  readonly needsOwnership?: true
  /** The resource was deleted with kubectl, which deletes the row. */
  readonly markDeleting?: true
  /** The deletion is recorded and no pod is left, so the API's finalizer can be removed. */
  readonly release?: true
  /** The row with the adopted leaves. */
  readonly edit?: Edit
  /** JSON Pointers of the adopted leaves, if there are any. */
  readonly adopted?: readonly string[]
  /** The revision that others set. The row continues above it. */
  readonly foreignRevision?: number
  /** The live spec was merged: it is the base of the next comparison. */
  readonly acknowledged?: boolean
  /** A sentence for each edit that was refused. */
  readonly reasons: readonly string[]
  /** The refused edits stay in the resource. */
  readonly isLeft?: boolean
  /** The resource differs from the row, and no push is pending. */
  readonly pushAgain?: boolean
  readonly observed?: Observed
}
