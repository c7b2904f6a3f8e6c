import type { Condition } from './objects.ts'

/**
 * The list with `next` in it, one entry a type, sorted by type. `lastTransitionTime` is `nowMs` (epoch) where the status
 * is new or other than before, else it stays: so that setting the same condition twice changes nothing.
 */
export const setCondition = (
  existing: readonly Condition[],
  next: Omit<Condition, 'lastTransitionTime'>,
  nowMs: number,
): Condition[] => {
  const before = existing.find((condition) => condition.type === next.type)
  const lastTransitionTime =
    before?.status === next.status ? before.lastTransitionTime : `${new Date(nowMs).toISOString().slice(0, 19)}Z`
  return [...existing.filter((condition) => condition.type !== next.type), { ...next, lastTransitionTime }].sort(
    (a, b) => (a.type < b.type ? -1 : 1),
  )
}
