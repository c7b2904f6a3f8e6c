/** A field that both sides may change, with the revision of the row that it belongs to. */
type Revisioned<T> = { readonly revision: number; readonly value: T }

/**
 * What somebody else wrote into a field of a live resource; undefined where nobody did, or where the row changed it too
 * and so wins. A resource carries the revision that push wrote it at, so that the comparison is with that revision: the
 * watch often shows what push wrote before the answer of that push is recorded, and a start, a stop and a start in quick
 * succession must not be taken for a stop by another door. At a revision that is neither the row's nor the one recorded
 * last, what push wrote is not known, and a newer push is on its way anyway.
 */
export const adoptEdit = <T>(
  live: Revisioned<T>,
  row: Revisioned<T>,
  applied: Revisioned<T> | undefined,
): T | undefined => {
  if (live.revision === row.revision) return live.value === row.value ? undefined : live.value
  if (applied?.revision !== live.revision || live.value === applied.value) return undefined
  return row.value === applied.value ? live.value : undefined
}
