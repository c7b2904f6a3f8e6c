import { type Column, getTableColumns, Param, type Placeholder, type SQL, sql } from 'drizzle-orm'
import { PgDialect, type PgTable, type PgUpdateSetSource } from 'drizzle-orm/pg-core'
import type { Database, Transaction } from './client.ts'
import { type Compiled, compile, compileText, type Values } from './compiled.ts'

/** The part of a database handle that builds queries. */
export type Builder = Pick<Transaction, 'select' | 'insert' | 'update' | 'delete' | '$with' | 'with'>

/** A query that drizzle has prepared. */
type Prepared<Result> = { execute(values?: Record<string, unknown>): Promise<Result> }

/**
 * Returns a query that is built once. Building the SQL text with drizzle for each call costs more than Postgres needs to execute it.
 * `execute` sends the query at once.
 */
export const prepared = <Result>(
  prepare: (db: Builder) => Prepared<Result>,
): ((db: Database | Transaction) => { execute(values: Values): Promise<Result> }) => {
  let compiled: Compiled<Result> | undefined
  return (db) => ({
    execute: (values) => {
      compiled ??= compile(prepare(db))
      return compiled.execute(clientOf(db), values)
    },
  })
}

/** Returns the pool, or the connection of a transaction. */
const clientOf = (db: Database | Transaction): object => {
  if ('$client' in db) return db.$client
  // The types of drizzle do not show the connection of a session.
  const { session } = db._ as unknown as { session: { client: object } }
  return session.client
}

const dialect = new PgDialect({ casing: 'snake_case' })

/** Returns a statement of SQL that is built once, as by `prepared`. `execute` returns its rows as the driver reads them. */
export const preparedSql = <Row extends object>(
  name: string,
  build: () => SQL,
): ((db: Database | Transaction) => { execute(values: Values): Promise<Row[]> }) => {
  let compiled: Compiled<{ readonly rows: Row[] }> | undefined
  return (db) => ({
    execute: async (values) => {
      compiled ??= compileText(name, dialect.sqlToQuery(build()))
      return (await compiled.execute(clientOf(db), values)).rows
    },
  })
}

type Columns<Table extends PgTable> = Table['_']['columns']

/** Returns a parameter of a prepared query for each of these columns, with the name of the column. Null is a value of each. */
export const parametersOf = <Table extends PgTable, Name extends keyof Columns<Table> & string>(
  table: Table,
  names: readonly Name[],
): Record<Name, SQL> => {
  const columns: Record<string, Column> = getTableColumns(table)
  return Object.fromEntries(names.map((name) => [name, parameterOf(name, columns[name])])) as Record<Name, SQL>
}

/** Returns the names of all columns of a table. */
export const columnNames = <Table extends PgTable>(table: Table): (keyof Columns<Table> & string)[] =>
  Object.keys(getTableColumns(table))

/** Drizzle would encode the null of a prepared query as if it were a value, such as the JSON null. */
const parameterOf = (name: string, column: Column | undefined): SQL => {
  const mapToDriverValue = (value: unknown): unknown => (value === null ? null : column?.mapToDriverValue(value))
  return sql`${new Param(sql.placeholder(name), { mapToDriverValue })}`
}

/** The maximum number of sets of columns whose updates are prepared. The code sets far fewer. */
const maxUpdates = 100

/**
 * Returns a function that updates columns of the row with an id. The statement for a set of columns is built once, as by
 * `prepared`. `name` begins the names of the statements.
 */
export const preparedUpdate = <Table extends PgTable & { readonly id: Column }>(table: Table, name: string) => {
  const whereId = (id: string | Placeholder): SQL => sql`${table.id} = ${id}`
  const build = (names: readonly string[], statement: string) =>
    prepared((db) =>
      db
        .update(table)
        .set(parametersOf(table, names) as PgUpdateSetSource<Table>)
        .where(whereId(sql.placeholder('idOfRow')))
        .prepare(statement),
    )
  const updates = new Map<string, ReturnType<typeof build>>()
  const find = (columns: object): ReturnType<typeof build> | undefined => {
    const names = Object.entries(columns).flatMap(([column, value]) => (value === undefined ? [] : [column]))
    const key = names.join()
    if (!updates.has(key) && updates.size < maxUpdates) updates.set(key, build(names, `${name}_${updates.size}`))
    return updates.get(key)
  }
  return async (tx: Transaction, id: string, columns: Partial<Table['$inferInsert']>): Promise<void> => {
    const update = find(columns)
    if (update === undefined) await tx.update(table).set(columns).where(whereId(id)).execute()
    else await update(tx).execute({ ...columns, idOfRow: id })
  }
}
