import { type SQL, sql } from 'drizzle-orm'
import { type WorldRow, worlds } from '#api/domain/worlds/table.ts'
import { query, type Transaction } from '#api/platform/database/client.ts'
import { rowsOf } from '#api/platform/database/rows.ts'

// Plain SQL, because each start and each event of the cluster locks and changes a row of 40 columns.
const rows = rowsOf(worlds)

/** Returns the world that a condition selects, locked until the end of the transaction, or undefined if there is none. */
export const lockWorldRow = async (tx: Transaction, where: SQL): Promise<WorldRow | undefined> => {
  const [row] = await query(tx, sql`select ${rows.names} from ${worlds} where ${where} for update`)
  return row && rows.decode(row)
}

/** Updates columns of the world with an id. */
export const updateColumns = async (tx: Transaction, id: string, columns: Partial<WorldRow>): Promise<void> => {
  await query(tx, sql`update ${worlds} set ${rows.assign(columns)} where id = ${id}`)
}
