import { is, SQL, sql } from 'drizzle-orm'
import { PgColumn, type PgTable, type SelectedFields } from 'drizzle-orm/pg-core'
import type { SelectResultFields } from 'drizzle-orm/query-builders/select.types'
import type { Lease } from '#api/platform/fairness/budget.ts'
import { holdOrRefuse } from '#api/platform/http/inFlight.ts'
import type { PageRows } from '#api/platform/http/page.ts'
import { type Database, type Queries, scan, type Transaction } from './client.ts'
import type { RunLargeRead } from './largeReads.ts'
import { countFitting, cutIntoSlices } from './slices.ts'

/** The most bytes of the rows of a page, unless its only row is larger. */
const maxPageBytes = 8 * 1024 * 1024
/**
 * The bytes of a page that one query reads. A larger one waits for its turn and is read in slices, because other requests wait
 * while rows are parsed.
 */
const wholeBytes = 3 * 1024 * 1024
const sliceBytes = 512 * 1024
/** The bytes of a row without its text and JSON: numbers, times, and the names of its fields in the response. */
const plainBytes = 1_024
/** While a page is read, its rows and its response are in memory. */
const copies = 2

/** The fields of a row: columns and expressions, also in groups. The size of an expression does not count, so it must be small. */
type Fields = Record<string, Field | Record<string, Field>>
type Field = PgColumn | SQL

/** A list: the rows that it shows, and their order. */
export type List = {
  readonly from: PgTable
  readonly join?: readonly [table: PgTable, on: SQL]
  readonly where: SQL | undefined
  readonly orderBy: readonly SQL[]
  readonly limit: number
  /** A page may read many rows that it does not show, or large values of them. */
  readonly isScan?: boolean | undefined
}

/** The database, the bytes that the request holds, and the turns of large pages. */
export type PageReader = { readonly db: Database; readonly lease: Lease; readonly runLargeRead: RunLargeRead }

/**
 * Reads a page of a list, and whether other rows follow. It ends at the limit, at 8 MiB, or at the bytes that the request can
 * still hold in memory, and has at least one row. Throws a 429 or 503 if the request cannot hold that row, or if too many large
 * pages wait. The sizes are read first, and the bytes are held before the rows are read. Select only the columns that the list
 * shows.
 */
export const readPage = async <Selected extends Fields>(
  reader: PageReader,
  fields: Selected,
  list: List,
): Promise<PageRows<SelectResultFields<Selected>>> => {
  const sizes = list.isScan ? undefined : await readSizes(reader.db, fields, { list, measured: 0 })
  const page =
    sizes !== undefined && isSmall(sizes)
      ? await readSized(reader, fields, { list, sizes })
      : await runScan(reader, (tx) => readLarge({ db: tx, lease: reader.lease }, fields, list))
  return { ...page, rows: page.rows as SelectResultFields<Selected>[] }
}

/**
 * Runs reads that take long in a transaction, in the turn of the request's organization or address. Throws a 429 or 503 if too many
 * wait, or if a statement takes more than 5 s.
 */
export const runScan = <T>(
  { db, lease, runLargeRead }: PageReader,
  read: (tx: Transaction) => Promise<T>,
): Promise<T> => runLargeRead(lease.group ?? '', () => db.transaction(read, scan))

type Reader = { readonly db: Queries; readonly lease: Lease }

const isSmall = (sizes: readonly number[]): boolean =>
  sizes.every((size) => size >= 0) && sizes.reduce((sum, each) => sum + each, 0) <= wholeBytes

const readLarge = async (reader: Reader, fields: Fields, list: List): Promise<PageRows<unknown>> =>
  readSized(reader, fields, { list, sizes: await measureSizes(reader.db, fields, list) })

type Sized = { readonly list: List; readonly sizes: readonly number[] }

const readSized = async ({ db, lease }: Reader, fields: Fields, { list, sizes }: Sized): Promise<PageRows<unknown>> => {
  // Without a wait until the bytes are held, so that no other request takes them.
  const maxBytes = Math.min(maxPageBytes, lease.available() / copies)
  const fitting = sizes.slice(0, countFitting(sizes.slice(0, list.limit), maxBytes))
  const bytes = fitting.reduce((sum, each) => sum + each, 0)
  holdOrRefuse(lease, bytes * copies)
  const rows = await readRows(db, fields, {
    list,
    slices: cutIntoSlices(fitting, bytes <= wholeBytes ? bytes : sliceBytes),
  })
  return { rows, hasMore: sizes.length > fitting.length }
}

type Slices = { readonly list: List; readonly slices: readonly number[] }

// Several slices are read in one snapshot, since a deletion between two of them would hide a row.
const readRows = async (db: Queries, fields: Fields, { list, slices }: Slices): Promise<unknown[]> => {
  const rows: unknown[] = []
  for (const count of slices) rows.push(...(await select(db, fields, list).limit(count).offset(rows.length)))
  return rows
}

const select = (db: Queries, fields: SelectedFields, { from, join, where, orderBy }: List) => {
  const query = db.select(fields).from(from).$dynamic()
  const joined = join === undefined ? query : query.innerJoin(...join)
  return joined.where(where).orderBy(...orderBy)
}

/**
 * Returns the bytes of each row up to the limit, and of one more, in the order of the list. It ends early when the rows fill a
 * page. Postgres converts JSON to know its bytes, so it measures few large rows at first, and twice as many while they do not
 * fill a page.
 */
const measureSizes = async (db: Queries, fields: Fields, list: List): Promise<number[]> => {
  for (let measured = firstMeasured; ; measured *= 2) {
    const sizes = await readSizes(db, fields, { list, measured })
    const known = sizes.findIndex((size) => size < 0)
    if (known < 0 || measured > list.limit) return sizes
    // The row that is not measured stands for those that follow the page.
    if (countFitting(sizes.slice(0, known), maxPageBytes) < known) return sizes.slice(0, known)
  }
}

type Measure = { readonly list: List; readonly measured: number }

/** Returns the bytes of each row up to the limit, and of one more. They are -1 for a large row after the first `measured` rows. */
const readSizes = async (db: Queries, fields: Fields, measure: Measure): Promise<number[]> => {
  const { list } = measure
  const sized = select(db, { bytes: sizeOf(fields, measure).as('bytes') }, list)
    .limit(list.limit + 1)
    .as('sized')
  // One text, because parsing a thousand rows takes longer than the query.
  const [row] = await db.select({ sizes: sql<string | null>`string_agg(bytes::text, ',')` }).from(sized)
  return row?.sizes?.split(',').map(Number) ?? []
}

/** The number of rows whose JSON is converted at first. */
const firstMeasured = 64
/**
 * A row is small if its JSON has fewer bytes in the table and is not compressed. Such JSON is not converted: its text has at most
 * about twice the bytes.
 */
const smallBytes = 1_536
const storedFactor = 2

/** Returns the bytes of a row, or -1 for a large one after the first `measured` rows. */
const sizeOf = (fields: Fields, { list, measured }: Measure): SQL => {
  const columns = columnsOf(fields)
  const texts = columns.filter((column) => column.getSQLType() === 'text')
  const json = columns.filter((column) => column.getSQLType() === 'jsonb')
  const add = (parts: SQL[]): SQL => sql.join(parts, sql` + `)
  const plain = add([sql.raw(String(plainBytes)), ...texts.map((column) => sql`coalesce(octet_length(${column}), 0)`)])
  if (json.length === 0) return plain
  const stored = add(json.map((column) => sql`coalesce(pg_column_size(${column}), 0)`))
  const compression = sql.join(
    json.map((column) => sql`pg_column_compression(${column})`),
    sql`, `,
  )
  const small = sql`${stored} < ${smallBytes} and coalesce(${compression}) is null`
  const bounded = sql`case when ${small} then ${plain} + ${storedFactor} * (${stored})`
  if (measured === 0) return sql`${bounded} else -1 end`
  const rank = sql`row_number() over (order by ${sql.join([...list.orderBy], sql`, `)})`
  const bytes = add(json.map((column) => sql`coalesce(octet_length(${column}::text), 0)`))
  return sql`${bounded} when ${rank} <= ${measured} then ${plain} + ${bytes} else -1 end`
}

const columnsOf = (fields: Fields): PgColumn[] =>
  Object.values(fields).flatMap((field) => {
    if (isColumn(field)) return [field]
    return is(field, SQL) ? [] : columnsOf(field)
  })

const isColumn = (field: Fields[string]): field is PgColumn => is(field, PgColumn)
