import { matches, parseFilter, termsOf } from './filter.ts'
import type { Key } from './filterKeys.ts'
import type { Row } from './row.ts'

/** The most characters of a filter in a link. */
const maxFilterLength = 1_000

/** The terms whose worlds a start changes. Free text is also searched in the reason, the message, the build and the address. */
const changing: ReadonlySet<Key | ''> = new Set(['', 'phase', 'reason', 'build', 'address'])

/** Returns a filter without the terms whose worlds a start changes. */
const launchFilter = (filter: string): string =>
  termsOf(filter)
    .filter(({ key }) => !changing.has(key))
    .map(({ text }) => text)
    .join(' ')

/**
 * Returns the filter of the launch of worlds that an action started: their ids if the filter stays short, else the filter of their page
 * without what a start changes. `isMore` reports whether it selects more of the rows of the page than the action started.
 */
export const launchOf = ({
  filter,
  ids,
  rows,
  projectId,
}: {
  readonly filter: string
  readonly ids: readonly string[]
  readonly rows: Iterable<Row>
  /** Empty for all projects. */
  readonly projectId: string
}): { readonly filter: string; readonly isMore: boolean } => {
  const exact = `id:${ids.join(',')}`
  if (ids.length > 0 && exact.length <= maxFilterLength) return { filter: exact, isMore: false }
  const wide = launchFilter(filter)
  const parsed = parseFilter(wide)
  let selected = 0
  for (const row of rows) if ((projectId === '' || row.projectId === projectId) && matches(parsed, row)) selected += 1
  return { filter: wide, isMore: selected > ids.length }
}
