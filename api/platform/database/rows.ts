import { type Column, type GetColumnData, getTableColumns, type InferSelectModel, type SQL, sql } from 'drizzle-orm'
import { toSnakeCase } from 'drizzle-orm/casing'
import type { PgTable } from 'drizzle-orm/pg-core'
import pg from 'pg'

type NamedColumn = { readonly key: string; readonly name: string; readonly column: Column }
type Values = Readonly<Record<string, unknown>>

/**
 * Returns parts of plain SQL for whole rows of a table. Values are converted as drizzle converts them. Drizzle takes at least five
 * times as long to build a query with so many columns.
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

/** Leaves instants to the columns, as drizzle does. The driver takes twice as long to parse them. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (type, format) =>
    type === pg.types.builtins.TIMESTAMPTZ ? (text: string) => text : pg.types.getTypeParser(type, format),
}

/** The options of a query of the driver whose rows `readerOf` decodes. */
export const arrayMode = { rowMode: 'array', types } as const

/** Returns columns of a relation in SQL, and the conversion of their values, the first of which is at an index of a row. */
export const readerOf = <Columns extends Readonly<Record<string, Column>>>(columns: Columns, relation: string) => {
  const entries = Object.entries(columns)
  return {
    names: entries.map(([, { name }]) => `${relation}.${toSnakeCase(name)}`).join(', '),
    count: entries.length,
    decode: (values: readonly unknown[], first = 0) => {
      const row: Record<string, unknown> = {}
      let at = first
      for (const [key, column] of entries) {
        const value = values[at]
        row[key] = value === null ? null : column.mapFromDriverValue(value)
        at += 1
      }
      return row as { [Key in keyof Columns]: GetColumnData<Columns[Key]> }
    },
  }
}
