import type { Condition } from './objects.ts'

/**
 * Returns the conditions with `next` set, sorted by type. `lastTransitionTime` becomes `nowMs` (epoch milliseconds) only if
 * the status changes, so setting the same condition twice changes nothing.
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
