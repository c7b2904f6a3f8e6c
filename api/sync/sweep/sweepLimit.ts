/** The share of the resources that a sweep may recreate without acceptance. */
const maxShare = 0.1
const alwaysAllowed = 5

/** A row whose resource is missing in the cluster. */
export type Missing = {
  readonly id: string
  /** True if a namespace or definition was deleted in this cluster and took the resource with it. */
  readonly isExplained: boolean
}

/** The result of a sweep: the rows whose resources are recreated, and those that wait for acceptance. */
export type SweepDecision<T> = { readonly recreate: readonly T[]; readonly held: readonly T[] }

/**
 * Limits a sweep to 10 % of the `total` resources, at least 5, or to the `accepted` number if that is higher. Above the limit,
 * only explained resources are recreated.
 */
export const decideSweep = <T extends Missing>(
  missing: readonly T[],
  { total, accepted }: { total: number; accepted: number },
): SweepDecision<T> => {
  const limit = Math.max(alwaysAllowed, Math.floor(total * maxShare), accepted)
  const unexplained = missing.filter(({ isExplained }) => !isExplained)
  if (unexplained.length <= limit) return { recreate: missing, held: [] }
  return { recreate: missing.filter(({ isExplained }) => isExplained), held: unexplained }
}
