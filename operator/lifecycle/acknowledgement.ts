import { isDeepStrictEqual } from 'node:util'
import type { Condition } from '#shared/kube/objects.ts'

/** The part of a status that says which spec it is for. */
type Acknowledging = {
  readonly observedGeneration?: number | undefined
  readonly observedRevision?: number | undefined
  readonly conditions?: readonly Condition[] | undefined
  readonly message?: string | undefined
}

/**
 * Reports whether a status says nothing new except that the operator has seen the spec. While nothing runs, its message and conditions
 * are no news either: they change with each flip of the desired state. Nothing waits for such a status.
 */
export const isAcknowledgement = (
  before: Acknowledging | undefined,
  after: Acknowledging,
  { isIdle }: { isIdle: boolean },
): boolean =>
  before !== undefined &&
  (before.observedGeneration !== after.observedGeneration || before.observedRevision !== after.observedRevision) &&
  isDeepStrictEqual(newsOf(before, isIdle), newsOf(after, isIdle))

const newsOf = (
  { observedGeneration: _, observedRevision: __, conditions = [], message, ...rest }: Acknowledging,
  isIdle: boolean,
): object =>
  isIdle
    ? rest
    : { ...rest, message, conditions: conditions.map(({ observedGeneration: ___, ...condition }) => condition) }
