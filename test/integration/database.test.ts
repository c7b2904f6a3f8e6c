import { getTableColumns, sql } from 'drizzle-orm'
import { bigint, boolean, integer, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { beginsWithReads, openDatabase } from '#api/platform/database/client.ts'
import { instant } from '#api/platform/database/columns.ts'
import { prepared } from '#api/platform/database/prepared.ts'
import { arrayMode, readerOf, rowsOf } from '#api/platform/database/rows.ts'
import { statement, statementFor } from '#api/platform/database/statement.ts'
import { aDatabase } from '#test/support/processes.ts'

let database: ReturnType<typeof openDatabase>
beforeAll(async () => {
  // One connection, so that all queries share its prepared statements.
  database = openDatabase({ url: await aDatabase(), poolSize: 1 })
})
afterAll(async () => {
  await database?.close()
})

const preparedTexts = async (): Promise<string[]> => {
  const { rows } = await database.db.execute<{ statement: string }>(sql`select statement from pg_prepared_statements`)
  return rows.map(({ statement }) => statement)
}
const add = async (a: number, b: number): Promise<unknown> =>
  (await database.db.execute(sql`select ${a}::int + ${b}::int as sum`)).rows[0]?.sum

test('a connection prepares a frequent statement only once', async () => {
  for (let count = 0; count < 20; count += 1) expect(await add(count, 1)).toBe(count + 1)
  expect((await preparedTexts()).filter((text) => text.includes('as sum'))).toHaveLength(1)
})

test('queries that share a round trip get their own results of a prepared statement', async () => {
  const sums = await database.db.transaction((tx) =>
    Promise.all(
      Array.from(
        { length: 50 },
        async (_, at) => (await tx.execute(sql`select ${at}::int + ${at}::int as sum`)).rows[0]?.sum,
      ),
    ),
  )
  expect(sums).toEqual(Array.from({ length: 50 }, (_, index) => 2 * index))
})

test('a statement whose preparation failed with its transaction is prepared later', async () => {
  const divide = (by: number) => sql`select 6 / ${by}::int as quotient`
  // The fifth use names the statement. Postgres refuses to prepare it, because the transaction has failed.
  for (let count = 0; count < 4; count += 1) await database.db.execute(divide(3))
  const failing = database.db.transaction(async (tx) => {
    await Promise.all([tx.execute(sql`select 1 / 0`), tx.execute(divide(2))])
  })
  await expect(failing).rejects.toThrow()
  expect((await database.db.execute(divide(3))).rows).toEqual([{ quotient: 2 }])
  expect((await database.db.execute(divide(2))).rows).toEqual([{ quotient: 3 }])
})

test('a transaction does not get a connection that fails while the pool hands it out', async () => {
  const { db } = database
  const idle = await db.$client.connect()
  idle.release()
  const sum = db.transaction(async (tx) => (await tx.execute(sql`select 1 + 1 as sum`)).rows[0]?.sum)
  // The pool hands the connection out in the next tick, before the error arrives.
  idle.connection.stream.destroy(new Error('reset'))
  expect(await sum).toBe(2)
})

test('a query of a pool is built and prepared once', async () => {
  let built = 0
  const query = prepared((db) => {
    built += 1
    return db
      .select({ word: sql<string>`${sql.placeholder('word')}::text` })
      .from(sql`(values (1)) as one`)
      .prepare('word')
  })
  for (const word of ['a', 'b']) expect(await query(database.db).execute({ word })).toEqual([{ word }])
  expect(built).toBe(1)
  expect((await preparedTexts()).filter((text) => text.includes('as one'))).toHaveLength(1)
})

test('rows that plain SQL writes and reads are those that drizzle writes and reads', async () => {
  const things = pgTable('things', {
    id: text().primaryKey(),
    itemCount: integer().notNull(),
    revision: bigint({ mode: 'number' }).notNull(),
    isLarge: boolean().notNull(),
    content: jsonb().$type<unknown>(),
    createdAt: instant().notNull(),
    endedAt: instant(),
  })
  const { db } = database
  await db.execute(sql`create table things
    (ended_at timestamptz(3), content jsonb, id text, item_count int, revision bigint, is_large bool, created_at timestamptz(3))`)
  const { names, insert, encode, decode } = rowsOf(things)
  const common = { itemCount: 7, revision: Number.MAX_SAFE_INTEGER, isLarge: true, createdAt: new Date(123) }
  const rows = [
    { ...common, id: 'a', content: null, endedAt: null },
    { ...common, id: 'b', content: { a: [1, '"x"'] }, endedAt: new Date('2026-11-27T06:00:00.999Z') },
    { ...common, id: 'c', content: '"text"', isLarge: false, endedAt: null },
    { ...common, id: 'd', content: 0, itemCount: -1, revision: 0, endedAt: null },
  ]
  for (const row of rows) await statement(insert())(db, encode(row))
  await db.insert(things).values(rows)
  const read = await db.select().from(things).orderBy(things.id)
  expect(read).toEqual(rows.flatMap((row) => [row, row]))
  const { rows: plain } = await db.execute(sql`select ${names} from ${things} order by id`)
  expect(plain.map(decode)).toEqual(read)
  const reader = readerOf(getTableColumns(things), 'things')
  const query = { ...arrayMode, text: `select 'first', ${reader.names} from things order by id` }
  const { rows: arrays } = await db.$client.query<unknown[]>(query)
  expect(arrays.map((values) => reader.decode(values, 1))).toEqual(read)
})

test('an update in plain SQL sets exactly the given columns, for any set of them, and null as the null of SQL', async () => {
  const column = () => jsonb().$type<number | null>()
  const [a, b, c, d, e, f, g] = [column(), column(), column(), column(), column(), column(), column()]
  const cells = pgTable('cells', { id: text().primaryKey(), a, b, c, d, e, f, g })
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'] as const
  const { assign, encode } = rowsOf(cells)
  const update = statementFor((keys) => sql`update cells set ${assign(keys)} where id = 'changed'`)
  const { db } = database
  await db.execute(sql`create table cells (id text, a jsonb, b jsonb, c jsonb, d jsonb, e jsonb, f jsonb, g jsonb)`)
  await db.insert(cells).values([{ id: 'changed' }, { id: 'other', a: 1 }])

  const isJsonNull = sql.join(
    names.map((name) => sql`${cells[name]} = 'null'`),
    sql` or `,
  )
  const expected: Record<string, number | null> = Object.fromEntries(names.map((name) => [name, null]))
  // The second round uses each statement again.
  for (let round = 0; round < 2; round += 1) {
    for (let set = 1; set < 2 ** names.length; set += 1) {
      const isGiven = names.map((_, at) => Math.floor(set / 2 ** at) % 2 === 1)
      const columns = Object.fromEntries(
        names.map((name, at) => [name, isGiven[at] ? ((set + at) % 3 === 0 ? null : 1_000 * round + set) : undefined]),
      )
      for (const [name, value] of Object.entries(columns)) if (value !== undefined) expected[name] = value
      await update(db, encode(columns))
      const [changed] = await db.select().from(cells).where(sql`id = 'changed'`)
      expect(changed).toEqual({ id: 'changed', ...expected })
      expect(await db.select().from(cells).where(isJsonNull)).toEqual([])
    }
  }
  expect(await db.select().from(cells).where(sql`id = 'other'`)).toMatchObject([{ a: 1, b: null }])
})

test('a transaction whose begin is refused sends only its first round trip, and its connection is not used again', async () => {
  const { db } = database
  await db.execute(sql`create table begun (id int)`)
  // The session refuses to begin another transaction, since this one has read.
  await db.execute(sql`begin read only`)
  await db.execute(sql`select 1`)
  const refused = db.transaction(async (tx) => {
    await tx.execute(sql`select 1`).catch(() => undefined)
    await tx.execute(sql`rollback`).catch(() => undefined)
    await tx.execute(sql`insert into begun values (1)`).catch(() => undefined)
  }, beginsWithReads)
  await expect(refused).rejects.toThrow()
  await db.transaction((tx) => tx.execute(sql`insert into begun values (2)`), beginsWithReads)
  expect((await db.execute(sql`select id from begun`)).rows).toEqual([{ id: 2 }])
})
