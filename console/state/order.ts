import { type Filter, matchesOthers, matchesPhase } from './filter.ts'
import { formatCount } from './format.ts'
import { countPhases } from './groups.ts'
import type { Phase, Row } from './row.ts'
import { compareBy, type Sort } from './sort.ts'

/** The order of the worlds on screen. */
export type Arrangement = {
  readonly ids: readonly string[]
  /** Number of worlds that a new arrangement would add, remove or move. */
  readonly waiting: number
  /** Number of worlds among them that are in `ids` and do not match the filter any more. */
  readonly unmatched: number
  /** Number of worlds in each phase, of those that match the words of the filter about anything but the phase. */
  readonly phases: Readonly<Record<Phase, number>>
}

/** The order of no world. */
export const noOrder: Arrangement = { ids: [], waiting: 0, unmatched: 0, phases: countPhases([]) }

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
  const others = [...inOrderOf(shown, rows)].filter((row) => matchesOthers(filter, row))
  const selected = others.filter((row) => matchesPhase(filter, row)).sort(compareBy(sort))
  const next = selected.map(({ id }) => id)
  const phases = countPhases(others)
  if (!isHeld) return { ids: next, waiting: 0, unmatched: 0, phases }
  const matching = new Set(next)
  const unmatched = shown.filter((id) => rows.has(id) && !matching.has(id)).length
  return { ids: shown, waiting: countChanges(shown, next), unmatched, phases }
}

/** Says what waits, such as `3 changes, sort again (1 row no longer matches the filter)`. */
export const describeWaiting = ({ waiting, unmatched }: Pick<Arrangement, 'waiting' | 'unmatched'>): string => {
  const others = `${formatCount(unmatched, 'row')} no longer ${unmatched === 1 ? 'matches' : 'match'} the filter`
  return `${formatCount(waiting, 'change')}, sort again${unmatched === 0 ? '' : ` (${others})`}`
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
