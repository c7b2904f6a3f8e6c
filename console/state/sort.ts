import { attentionRank, phases } from './attention.ts'
import { formatCount } from './format.ts'
import { remember } from './remember.ts'
import type { Row } from './row.ts'

/** A column of the fleet. */
export type Column =
  | 'name'
  | 'id'
  | 'phase'
  | 'reason'
  | 'message'
  | 'profile'
  | 'place'
  | 'build'
  | 'map'
  | 'players'
  | 'restarts'
  | 'address'
  | 'capacity'
  | 'age'
  | 'labels'

/** The order of the fleet: by a column, or by `attention`, the default, with the worlds first that need it. */
export type Sort = { readonly column: Column | 'attention'; readonly isDescending: boolean }

type ColumnDefinition = {
  readonly name: Column
  readonly label: string
  /** Numbers are aligned at their end. */
  readonly align: 'start' | 'end'
  /** Reports whether the column is shown until the user chooses others. */
  readonly isShownFirst: boolean
  /** Returns the value to sort by. Empty text is for worlds without a value. */
  readonly sortValue: (row: Row) => string | number
}

const column = (
  name: Column,
  label: string,
  sortValue: ColumnDefinition['sortValue'],
  { align = 'start', isShownFirst = true }: Partial<Pick<ColumnDefinition, 'align' | 'isShownFirst'>> = {},
): ColumnDefinition => ({
  name,
  label,
  align,
  isShownFirst,
  sortValue: remember((row) => {
    const value = sortValue(row)
    return typeof value === 'number' ? value : toNatural(value)
  }),
})

/** Returns a text whose order by characters is that of words and numbers: `World 9` before `world 10`. */
const toNatural = (text: string): string =>
  text
    .toLowerCase()
    .normalize('NFD')
    .replace(/\d+/g, (digits) => digits.padStart(20, '0'))

/** The columns of the fleet, in their order on screen. */
export const columns: readonly ColumnDefinition[] = [
  column('name', 'Name', (row) => row.name),
  column('id', 'Id', (row) => row.id, { isShownFirst: false }),
  column('phase', 'Phase', (row) => phases.indexOf(row.phase)),
  column('reason', 'Reason', (row) => row.reason),
  column('message', 'Message', (row) => row.message, { isShownFirst: false }),
  column('profile', 'Profile', (row) => row.profile),
  column('place', 'Place', (row) => placeOf(row)),
  column('build', 'Build', (row) => row.build, { isShownFirst: false }),
  column('map', 'Map', (row) => row.mapName),
  column('players', 'Players', (row) => row.players ?? '', { align: 'end' }),
  column('restarts', 'Restarts', (row) => row.restarts, { align: 'end', isShownFirst: false }),
  column('address', 'Address', (row) => row.address),
  column('capacity', 'Capacity', (row) => row.capacity, { align: 'end', isShownFirst: false }),
  // The youngest world has the lowest age.
  column('age', 'Age', (row) => -row.createdAtMs, { align: 'end' }),
  column('labels', 'Labels', (row) => labelsOf(row).join(' '), { isShownFirst: false }),
]

/** Returns the place of a world as `group/region`. */
export const placeOf = ({ group, region }: Row): string => `${group}/${region}`

/** The players of a world whose server does not report them. */
export const unknownPlayers = '—'

/** Returns the players of a world, such as `50 of 50, 3 wait`. Empty while the world has no server that they can enter. */
export const playersOf = ({ phase, players, queued, capacity }: Row): string => {
  if (players === undefined) return phase === 'Active' ? unknownPlayers : ''
  const waiting = queued === 0 ? '' : `, ${formatCount(queued)} wait`
  return `${formatCount(players)} of ${formatCount(capacity)}${waiting}`
}

/** Returns the labels of a world as `key=value`, sorted. */
export const labelsOf = ({ labels }: Row): string[] =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .sort()

const byAttention: Sort = { column: 'attention', isDescending: false }

/** Parses an order such as `age`, or `-age` for the descending one. Any other text is the default order. */
export const parseSort = (text: string): Sort => {
  const isDescending = text.startsWith('-')
  const found = columns.find(({ name }) => name === (isDescending ? text.slice(1) : text))
  return found === undefined ? byAttention : { column: found.name, isDescending }
}

/** Returns the text of an order, for the URL. Empty for the default. */
export const formatSort = ({ column, isDescending }: Sort): string =>
  column === 'attention' ? '' : `${isDescending ? '-' : ''}${column}`

const attentionOf = remember((row) => `${attentionRank(row)} ${toNatural(row.name)}`)

/**
 * Returns a comparison of rows for an array's sort. Numbers in text count as numbers, and worlds without a value come last in both
 * directions. Equal rows are in the order of their ids.
 */
export const compareBy = ({ column, isDescending }: Sort): ((a: Row, b: Row) => number) => {
  const read = columns.find(({ name }) => name === column)?.sortValue ?? attentionOf
  const sign = isDescending ? -1 : 1
  return (a, b) => {
    const [left, right] = [read(a), read(b)]
    if (left === right) return a.id < b.id ? -1 : Number(a.id > b.id)
    if (left === '' || right === '') return left === '' ? 1 : -1
    return left < right ? -sign : sign
  }
}
