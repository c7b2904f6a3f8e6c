import { type Column, type GetColumnData, getTableColumns, type InferSelectModel, type SQL, sql } from 'drizzle-orm'
import { toSnakeCase } from 'drizzle-orm/casing'
import type { PgTable } from 'drizzle-orm/pg-core'
import pg from 'pg'

type NamedColumn = { readonly key: string; readonly name: string; readonly column: Column }
type Values = Readonly<Record<string, unknown>>

/**
 * Returns parts of statements (`statement.ts`) for whole rows of a table. Values are converted as drizzle converts them. Drizzle
 * takes at least five times as long to build a query with so many columns.
 */
export const rowsOf = <Table extends PgTable>(table: Table) => {
  type Row = InferSelectModel<Table>
  const columns = Object.entries<Column>(getTableColumns(table)).map(
    ([key, column]): NamedColumn => ({ key, name: toSnakeCase(column.name), column }),
  )
  const names = namesOf(columns)
  const select = (keys?: readonly string[]) => columns.filter(({ key }) => keys?.includes(key) ?? true)
  return {
    /** The names of all columns. */
    names,
    /** Returns the insertion of a row, of all columns or of those with some keys. Its placeholders are the keys. */
    insert: (keys?: readonly string[]): SQL => {
      const given = select(keys)
      return sql`insert into ${table} (${namesOf(given)}) values (${placeholdersOf(given)})`
    },
    /** Returns the assignments of an update of the columns with some keys, which are its placeholders. */
    assign: (keys: readonly string[]): SQL => {
      const given = select(keys)
      return sql`(${namesOf(given)}) = row (${placeholdersOf(given)})`
    },
    /** Returns the values of placeholders, by key. Columns that are absent or undefined have none. */
    encode: (row: { readonly [Key in keyof Row]?: Row[Key] | undefined }): Record<string, unknown> => {
      const values: Values = row
      const encoded: Record<string, unknown> = {}
      for (const { key, column } of columns) {
        const value = values[key]
        if (value !== undefined) encoded[key] = value === null ? null : column.mapToDriverValue(value)
      }
      return encoded
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

const placeholdersOf = (columns: readonly NamedColumn[]): SQL =>
  sql.join(
    columns.map(({ key }) => sql.placeholder(key)),
    sql`, `,
  )

/** Leaves instants to the columns, as drizzle does. The driver takes twice as long to parse them. */
export const rawTypes: pg.CustomTypesConfig = {
  getTypeParser: (type, format) =>
    type === pg.types.builtins.TIMESTAMPTZ ? (text: string) => text : pg.types.getTypeParser(type, format),
}

/** The options of a query of the driver whose rows `readerOf` decodes. */
export const arrayMode = { rowMode: 'array', types: rawTypes } as const

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
