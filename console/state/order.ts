import { type Filter, matches } from './filter.ts'
import type { Row } from './row.ts'
import { compareBy, type Sort } from './sort.ts'

/** The order of the worlds on screen. */
export type Arrangement = {
  readonly ids: readonly string[]
  /** Number of worlds that a new arrangement would add, remove or move. */
  readonly waiting: number
}

/**
 * Returns the ids of the worlds that a filter selects, in order. A held order keeps the ids of `shown` at their places, and counts the
 * changes that wait instead. Pass `isHeld: false` once after the user changed the filter or the sort.
 */
export const arrange = ({
  shown,
  rows,
  filter,
  sort,
  isHeld,
}: {
  readonly shown: readonly string[]
  readonly rows: ReadonlyMap<string, Row>
  readonly filter: Filter
  readonly sort: Sort
  readonly isHeld: boolean
}): Arrangement => {
  const next = [...inOrderOf(shown, rows)]
    .filter((row) => matches(filter, row))
    .sort(compareBy(sort))
    .map(({ id }) => id)
  return isHeld ? { ids: shown, waiting: countChanges(shown, next) } : { ids: next, waiting: 0 }
}

/** Returns all rows, the shown ones first: an order that is almost right takes few comparisons to sort. */
const inOrderOf = (shown: readonly string[], rows: ReadonlyMap<string, Row>): Set<Row> => {
  const ordered = new Set<Row>()
  for (const id of shown) {
    const row = rows.get(id)
    if (row !== undefined) ordered.add(row)
  }
  for (const row of rows.values()) ordered.add(row)
  return ordered
}

const countChanges = (shown: readonly string[], next: readonly string[]): number => {
  const places = new Map(shown.map((id, place) => [id, place]))
  const kept = next.flatMap((id) => places.get(id) ?? [])
  const [added, removed] = [next.length - kept.length, shown.length - kept.length]
  return added + removed + kept.length - longestAscent(kept)
}

/** Returns the length of the longest ascending subsequence: the number of worlds that can stay when the others move. */
const longestAscent = (places: readonly number[]): number => {
  // The element n is the lowest end of an ascent of n + 1 places.
  const ends: number[] = []
  for (const place of places) {
    let [low, high] = [0, ends.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((ends[middle] ?? 0) < place) low = middle + 1
      else high = middle
    }
    ends[low] = place
  }
  return ends.length
}
