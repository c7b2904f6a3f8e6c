import { type AnyColumn, and, asc, desc, eq, gt, lt, or, type SQL } from 'drizzle-orm'
import type { Page } from '#api/platform/http/page.ts'

type Columns = { createdAt: AnyColumn; id: AnyColumn }

/** Returns the condition for rows after the page's cursor, in list order. */
export const whereAfterCursor = (table: Columns, page: Page): SQL | undefined =>
  page.after &&
  or(
    gt(table.createdAt, page.after.createdAt),
    and(eq(table.createdAt, page.after.createdAt), gt(table.id, page.after.id)),
  )

/** The order of a list of resources: oldest first, then by id. */
export const listOrder = (table: Columns): [SQL, SQL] => [asc(table.createdAt), asc(table.id)]

/** Returns the condition for rows after the page's cursor in a list with the newest first. */
export const whereBeforeCursor = (table: Columns, page: Page): SQL | undefined =>
  page.after &&
  or(
    lt(table.createdAt, page.after.createdAt),
    and(eq(table.createdAt, page.after.createdAt), lt(table.id, page.after.id)),
  )

/** The order of a record of events: newest first, then by id. */
export const newestFirst = (table: Columns): [SQL, SQL] => [desc(table.createdAt), desc(table.id)]
