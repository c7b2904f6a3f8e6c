import { type AnyColumn, and, asc, eq, gt, or, type SQL } from 'drizzle-orm'
import type { Page } from '#api/platform/http/page.ts'

type Columns = { createdAt: AnyColumn; id: AnyColumn }

/** What comes after the cursor, in the order of `inOrder`. */
export const after = (table: Columns, page: Page): SQL | undefined =>
  page.after &&
  or(
    gt(table.createdAt, page.after.createdAt),
    and(eq(table.createdAt, page.after.createdAt), gt(table.id, page.after.id)),
  )

/** The order of every list: oldest first, ids settle ties. */
export const inOrder = (table: Columns): [SQL, SQL] => [asc(table.createdAt), asc(table.id)]
