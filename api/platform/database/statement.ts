import { fillPlaceholders, type SQL } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import type pg from 'pg'
import { rawTypes } from './rows.ts'

const dialect = new PgDialect({ casing: 'snake_case' })

/** A connection or a pool of them. */
type Connected = { readonly $client: Pick<pg.ClientBase, 'query'> }

/**
 * Returns a function that executes SQL with values for its placeholders (`sql.placeholder`), and returns the rows as Postgres does:
 * columns in snake case, bigint, JSON and instants as text. It sends the statement at once. Hot statements are made this way: their
 * text is built once, while drizzle takes longer to build many of its own than Postgres to execute them. The driver prepares a
 * statement that is used often (`statements.ts`).
 */
export const statement = <Values extends Record<string, unknown>, Row extends pg.QueryResultRow = pg.QueryResultRow>(
  built: SQL,
): ((db: Connected, values: Values) => Promise<Row[]>) => {
  const { sql: text, params } = dialect.sqlToQuery(built)
  const config = { text, types: rawTypes }
  return async (db, values) => (await db.$client.query<Row>(config, fillPlaceholders(params, values))).rows
}

/** The maximum number of sets of names whose statements are kept. Each caller has a few sets. */
const maxSets = 64

/** Returns a function like that of `statement` for values whose names differ. It makes a statement for each set of names. */
export const statementFor = (
  build: (names: readonly string[]) => SQL,
): ((db: Connected, values: Readonly<Record<string, unknown>>) => Promise<pg.QueryResultRow[]>) => {
  const made = new Map<string, ReturnType<typeof statement>>()
  return (db, values) => {
    const names = Object.keys(values)
    const set = names.join()
    const execute = made.get(set) ?? statement(build(names))
    if (made.size < maxSets) made.set(set, execute)
    return execute(db, values)
  }
}
