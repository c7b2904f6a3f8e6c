import { type AnyColumn, asc, desc, type SQL, sql } from 'drizzle-orm'
import type { Page } from '#api/platform/http/page.ts'

type Columns = { createdAt: AnyColumn; id: AnyColumn }

/**
 * Returns the condition for rows beyond a position in the order of two columns. It compares both at once, so that a scan of an
 * index on them starts at the position.
 */
export const whereBeyond = (
  [first, second]: readonly [AnyColumn, AnyColumn],
  isDescending: boolean,
  position: readonly [Date | string, string],
): SQL =>
  sql`(${first}, ${second}) ${sql.raw(isDescending ? '<' : '>')} (${sql.param(position[0], first)}, ${position[1]})`

/** Returns the condition for rows after the page's cursor, in list order. */
export const whereAfterCursor = (table: Columns, page: Page): SQL | undefined =>
  page.after && whereBeyond([table.createdAt, table.id], false, [page.after.createdAt, page.after.id])

/** The order of a list of resources: oldest first, then by id. */
export const listOrder = (table: Columns): [SQL, SQL] => [asc(table.createdAt), asc(table.id)]

/** Returns the condition for rows after the page's cursor in a list with the newest first. */
export const whereBeforeCursor = (table: Columns, page: Page): SQL | undefined =>
  page.after && whereBeyond([table.createdAt, table.id], true, [page.after.createdAt, page.after.id])

/** The order of a record of events: newest first, then by id. */
export const newestFirst = (table: Columns): [SQL, SQL] => [desc(table.createdAt), desc(table.id)]
