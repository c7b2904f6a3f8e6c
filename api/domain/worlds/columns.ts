import { type SQL, sql } from 'drizzle-orm'
import { type WorldRow, worlds } from '#api/domain/worlds/table.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { rowsOf } from '#api/platform/database/rows.ts'
import { statement, statementFor } from '#api/platform/database/statement.ts'

// Statements, because each start and each event of the cluster locks and changes a row of 40 columns.
const rows = rowsOf(worlds)

/** Returns a function that locks the world that a condition selects until the end of the transaction. It returns undefined if there is none. */
export const worldLock = <Values extends Record<string, string>>(where: SQL) => {
  const lock = statement<Values>(sql`select ${rows.names} from ${worlds} where ${where} for update`)
  return async (tx: Transaction, values: Values): Promise<WorldRow | undefined> => {
    const [row] = await lock(tx, values)
    return row && rows.decode(row)
  }
}

/** Updates columns of the world with an id. */
export const updateColumns = async (tx: Transaction, worldId: string, columns: Partial<WorldRow>): Promise<void> => {
  await update(tx, { ...rows.encode(columns), worldId })
}

const update = statementFor(
  (keys) => sql`update ${worlds} set ${rows.assign(keys)} where id = ${sql.placeholder('worldId')}`,
)
