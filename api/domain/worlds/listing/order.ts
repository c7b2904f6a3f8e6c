import type { WorldRow } from '#api/domain/worlds/table.ts'
import { Problem } from '#api/platform/http/problem.ts'
import type { SortField, WorldsQuery } from './query.ts'

/** The order of a list of worlds. Worlds with equal values are in the order of their ids. */
export type WorldOrder = { readonly field: SortField; readonly isDescending: boolean }

/** The requested part of a list of worlds. `after` is the value and the id of the last world of the previous page. */
export type WorldPage = {
  readonly limit: number
  readonly order: WorldOrder
  readonly after?: { readonly value: Date | string; readonly id: string }
}

/** Converts the query parameters to a page request. Throws a 400 for a cursor of a list in another order. */
export const toWorldPage = ({ limit, cursor, sort }: WorldsQuery): WorldPage => {
  const field = (sort.startsWith('-') ? sort.slice(1) : sort) as SortField
  const order = { field, isDescending: sort.startsWith('-') }
  if (cursor === undefined) return { limit, order }
  const value = decodeValue(field, cursor.value)
  if (value !== undefined) return { limit, order, after: { value, id: cursor.id } }
  const message = 'must be a cursor from a Link header of this list, with the same sort'
  throw new Problem('invalid_request', 'The request has 1 validation error.', {
    errors: [{ path: 'query:cursor', message }],
  })
}

/** Returns the cursor of the page after this row. */
export const cursorAfter = ({ field }: WorldOrder, row: Pick<WorldRow, SortField | 'id'>): string => {
  const value = row[field]
  const encoded = value instanceof Date ? value.getTime().toString(16) : Buffer.from(value).toString('base64url')
  return `${encoded}.${row.id}`
}

const isTime = (field: SortField): boolean => field === 'createdAt' || field === 'updatedAt'

const decodeValue = (field: SortField, encoded: string): Date | string | undefined => {
  if (isTime(field)) return /^[0-9a-f]{1,11}$/.test(encoded) ? new Date(Number.parseInt(encoded, 16)) : undefined
  const text = Buffer.from(encoded, 'base64url').toString()
  return Buffer.from(text).toString('base64url') === encoded && !text.includes('\0') ? text : undefined
}
