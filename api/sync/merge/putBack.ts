import type { Refusal } from '#api/domain/worlds/table.ts'
import type { VerdictOf } from './verdict.ts'

/** The number of times in `windowMs` that refused edits of a resource are put back. */
const maxPutBacks = 3
const windowMs = 60_000

/**
 * Returns the verdict, or one that leaves a refused edit in the resource: a tool that writes its edit again after each refusal would
 * otherwise write against the API without end. A change of the resource, or of what refused the edit, is decided anew.
 */
export const limitPutBacks = <Verdict extends VerdictOf<unknown, unknown>>(
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
  { reasons, isLeft = false }: Pick<VerdictOf<unknown, unknown>, 'reasons' | 'isLeft'>,
  at: { liveRevision: number; revision: number; generation: number; nowMs: number },
): { refusal?: Refusal | null } => {
  const { revision, generation, nowMs } = at
  if (reasons.length === 0)
    return row.refusal !== null && at.liveRevision > row.refusal.revision ? { refusal: null } : {}
  const putBackAtMs = [...recentOf(row.refusal, nowMs), ...(isLeft ? [] : [nowMs])]
  return { refusal: { revision, message: reasons.join(' '), generation, putBackAtMs, isLeft } }
}
