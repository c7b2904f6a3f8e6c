import { type Column, getTableColumns, type InferSelectModel, type SQL, sql } from 'drizzle-orm'
import { toSnakeCase } from 'drizzle-orm/casing'
import type { PgTable } from 'drizzle-orm/pg-core'

type NamedColumn = { readonly key: string; readonly name: string; readonly column: Column }
type Values = Readonly<Record<string, unknown>>

/**
 * Returns parts of plain SQL for whole rows of a table. Values are converted as drizzle converts them. Drizzle takes three to ten times
 * as long to build a query with so many columns, which is a tenth of the CPU of a start.
 */
export const rowsOf = <Table extends PgTable>(table: Table) => {
  type Row = InferSelectModel<Table>
  const columns = Object.entries<Column>(getTableColumns(table)).map(
    ([key, column]): NamedColumn => ({ key, name: toSnakeCase(column.name), column }),
  )
  const names = namesOf(columns)
  return {
    /** The names of all columns. */
    names,
    /** Returns the statement that inserts a row. */
    insert: (row: Row): SQL => sql`insert into ${table} (${names}) values ${encode(columns, row)}`,
    /** Returns the assignments of an update. Columns that are absent or undefined keep their values. */
    assign: (row: Partial<Row>): SQL => {
      const values: Values = row
      const assigned = columns.filter(({ key }) => values[key] !== undefined)
      return sql`(${namesOf(assigned)}) = row ${encode(assigned, values)}`
    },
    /** Converts a row as Postgres returns it, with all columns. */
    decode: (row: Values): Row =>
      Object.fromEntries(
        columns.map(({ key, name, column }) => {
          const value = row[name]
          return [key, value === null ? null : column.mapFromDriverValue(value)]
        }),
      ) as Row,
  }
}

const namesOf = (columns: readonly NamedColumn[]): SQL => sql.raw(columns.map(({ name }) => `"${name}"`).join(', '))

/** Returns the parameters of columns, which drizzle puts in parentheses. It is slow with parameters that it has to convert itself. */
const encode = (columns: readonly NamedColumn[], values: Values): unknown[] =>
  columns.map(({ key, column }) => {
    const value = values[key]
    return value === null ? null : column.mapToDriverValue(value)
  })
