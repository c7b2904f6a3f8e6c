import { isDeepStrictEqual } from 'node:util'
import type { Result } from '#shared/kube/controller.ts'
import type { Condition } from '#shared/kube/objects.ts'
import type { PacedKeys } from '#shared/kube/pace.ts'

/** The part of a status that says which spec it is for. */
type Acknowledging = {
  readonly observedGeneration?: number | undefined
  readonly observedRevision?: number | undefined
  readonly conditions?: readonly Condition[] | undefined
  readonly message?: string | undefined
}

/**
 * Reports whether a status only says that the operator has seen the spec. While nothing runs, changes of its message and conditions
 * do not count: each change of the desired state changes them. Nothing waits for such a status.
 */
export const isAcknowledgement = (
  before: Acknowledging | undefined,
  after: Acknowledging,
  { isIdle }: { isIdle: boolean },
): boolean =>
  before !== undefined &&
  (before.observedGeneration !== after.observedGeneration || before.observedRevision !== after.observedRevision) &&
  isDeepStrictEqual(newsOf(before, isIdle), newsOf(after, isIdle))

/** A status to write, with the facts that decide whether it may wait. */
type Acknowledgement = {
  readonly before: Acknowledging | undefined
  readonly status: Acknowledging
  readonly steps: readonly unknown[]
  readonly isIdle: boolean
  readonly requeueAfterMs?: number | undefined
}

/** Returns when to reconcile again if a status only acknowledges a spec and its namespace has used its rate; otherwise undefined. */
export const postponeAcknowledgement = (
  turns: PacedKeys,
  key: string,
  { before, status, steps, isIdle, requeueAfterMs }: Acknowledgement,
): Result => {
  if (steps.length > 0 || !isAcknowledgement(before, status, { isIdle })) return undefined
  const waitMs = turns.waitMs(key)
  return waitMs > 0 ? { requeueAfterMs: Math.min(waitMs, requeueAfterMs ?? waitMs), priority: 'low' } : undefined
}

const newsOf = (
  { observedGeneration: _, observedRevision: __, conditions = [], message, ...rest }: Acknowledging,
  isIdle: boolean,
): object =>
  isIdle
    ? rest
    : { ...rest, message, conditions: conditions.map(({ observedGeneration: ___, ...condition }) => condition) }
