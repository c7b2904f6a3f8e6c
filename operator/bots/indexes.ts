/** Parses the short form of indexes, such as `0-3,7`. */
export const parseIndexes = (text: string | undefined): Set<number> => {
  const all = new Set<number>()
  for (const range of text ? text.split(',') : []) {
    const [first = Number.NaN, last = first] = range.split('-').map(Number)
    for (let index = first; index <= last; index += 1) all.add(index)
  }
  return all
}

/** Returns the short form of indexes in ascending order, or undefined for none. */
export const formatIndexes = (indexes: Iterable<number>): string | undefined => {
  const ranges: { first: number; last: number }[] = []
  for (const index of [...indexes].sort((a, b) => a - b)) {
    const range = ranges.at(-1)
    if (range !== undefined && index <= range.last + 1) range.last = index
    else ranges.push({ first: index, last: index })
  }
  if (ranges.length === 0) return undefined
  return ranges.map(({ first, last }) => (first === last ? String(first) : `${first}-${last}`)).join(',')
}
