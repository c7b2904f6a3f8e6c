import { DrizzleQueryError, eq, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { bigint, boolean, integer, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import pg from 'pg'
import { expect, test } from 'vitest'
import { instant } from './columns.ts'
import { compile } from './compiled.ts'
import { parametersOf, prepared, preparedSql } from './prepared.ts'

const things = pgTable('things', {
  id: text().primaryKey(),
  count: integer().notNull(),
  revision: bigint({ mode: 'number' }).notNull(),
  isLarge: boolean().notNull(),
  content: jsonb().$type<object>(),
  createdAt: instant().notNull(),
})
const parts = pgTable('parts', { id: text().primaryKey(), thingId: text().notNull(), note: text() })
const id = sql.placeholder('id')

/** A row as the driver returns it in array mode. Drizzle parses JSON and instants itself. */
const row = ['thg-1', 7, '9007199254740991', true, '{"a":[1,"\\"x\\""]}', '2026-11-26 05:39:00.123+00']
const value = {
  id: 'thg-1',
  count: 7,
  revision: Number.MAX_SAFE_INTEGER,
  isLarge: true,
  content: { a: [1, '"x"'] },
  createdAt: new Date('2026-11-26T05:39:00.123Z'),
}

type Sent = { readonly config: object; readonly values: readonly unknown[] }

/** A database that answers each query with these rows, and records what it is sent. */
const aDatabase = (rows: unknown[][]) => {
  const sent: Sent[] = []
  const pool = new pg.Pool({ max: 0 })
  const query = async (config: object, values: unknown[]): Promise<unknown> => {
    sent.push({ config: { ...config, types: undefined }, values })
    return { rows, rowCount: rows.length }
  }
  return { db: drizzle(Object.assign(pool, { query }) as pg.Pool, { casing: 'snake_case' }), pool, sent }
}
type Db = ReturnType<typeof aDatabase>['db']

const select = (db: Db) => db.select().from(things).where(eq(things.id, id)).prepare('thing')
const selectExpressions = (db: Db) =>
  db
    .select({ count: sql<number>`count(*)`.mapWith(Number), named: sql<string>`${things.id} || 'x'`.as('named') })
    .from(things)
    .where(eq(things.id, id))
    .prepare('counted')
const join = (db: Db) =>
  db
    .select({ thing: { id: things.id, content: things.content }, part: parts })
    .from(things)
    .innerJoin(parts, eq(parts.thingId, things.id))
    .prepare('joined')
const joined = [
  ['thg-1', '{}', 'prt-1', 'thg-1', null],
  ['thg-1', null, 'prt-2', 'thg-1', 'x'],
]
const insert = (db: Db) => {
  const names = ['id', 'count', 'revision', 'isLarge', 'content', 'createdAt'] as const
  return db.insert(things).values(parametersOf(things, names)).prepare('inserted')
}
const update = (db: Db) => db.update(things).set({ count: 1 }).where(eq(things.id, id)).returning().prepare('updated')

/** Returns what drizzle and the compiled query send and return. */
const both = async (
  prepare: (db: Db) => { execute(values?: Record<string, unknown>): Promise<unknown> },
  rows: unknown[][],
  values: Record<string, unknown>,
) => {
  const [one, other] = [aDatabase(rows), aDatabase(rows)]
  const byDrizzle = await prepare(one.db).execute(values)
  const compiled = await compile(prepare(other.db)).execute(other.pool, values)
  return { byDrizzle: { result: byDrizzle, sent: one.sent }, compiled: { result: compiled, sent: other.sent } }
}

test.each([
  ['a select', select, [row], { id: 'thg-1' }],
  ['a select of null', select, [['thg-1', 7, '1', false, null, row[5]]], { id: 'thg-1' }],
  ['a select without a row', select, [], { id: 'thg-1' }],
  ['a select of expressions', selectExpressions, [['3', 'thg-1x']], { id: 'thg-1' }],
  ['a join', join, joined, {}],
  ['an insert', insert, [], value],
  ['an insert of null', insert, [], { ...value, content: null }],
  ['an update that returns rows', update, [row], { id: 'thg-1' }],
])('%s sends and returns the same as with drizzle', async (_, prepare, rows, values) => {
  const { byDrizzle, compiled } = await both(prepare, rows, values)
  expect(byDrizzle.sent).toHaveLength(1)
  expect(compiled).toEqual(byDrizzle)
})

test('columns are decoded by their types', async () => {
  const { compiled } = await both(select, [row], { id: 'thg-1' })
  expect(compiled.result).toEqual([value])
})

test('a missing value is an error, and nothing is sent', async () => {
  const { db, pool, sent } = aDatabase([])
  await expect(compile(select(db)).execute(pool, {})).rejects.toThrow('id')
  expect(sent).toEqual([])
})

test('an error of the driver is the cause of the error', async () => {
  const { db } = aDatabase([])
  const refused = new Error('refused')
  const client = { query: () => Promise.reject(refused) }
  const failing = compile(select(db)).execute(client, { id: 'thg-1' })
  await expect(failing).rejects.toThrow(DrizzleQueryError)
  await expect(failing).rejects.toMatchObject({ cause: refused })
})

test('an outer join is refused', () => {
  const { db } = aDatabase([])
  const joined = db.select().from(things).leftJoin(parts, eq(parts.thingId, things.id)).prepare('joined')
  expect(() => compile(joined)).toThrow('outer join')
})

test('a query is built once, and sent to the connection of each call', async () => {
  const [one, other] = [aDatabase([row]), aDatabase([row])]
  let built = 0
  const query = prepared((db) => {
    built += 1
    return select(db as Db)
  })
  await query(one.db).execute({ id: 'thg-1' })
  await query(other.db).execute({ id: 'thg-2' })
  expect(built).toBe(1)
  expect([...one.sent, ...other.sent].map(({ values }) => values)).toEqual([['thg-1'], ['thg-2']])
})

test('a statement of SQL is built once, and returns rows as the driver reads them', async () => {
  const { db, sent } = aDatabase([])
  const client = { query: async () => ({ rows: [{ id: 'thg-1', count: '7' }] }) }
  let built = 0
  const statement = preparedSql<{ id: string; count: string }>('counted', () => {
    built += 1
    return sql`select ${things.id}, count(*) from ${things} where ${things.isLarge} = ${sql.placeholder('isLarge')}`
  })
  await statement(db).execute({ isLarge: true })
  expect(await statement({ $client: client } as unknown as Db).execute({ isLarge: false })).toEqual([
    { id: 'thg-1', count: '7' },
  ])
  expect(built).toBe(1)
  const text = 'select "things"."id", count(*) from "things" where "things"."is_large" = $1'
  expect(sent).toEqual([{ config: { name: 'counted', text, types: undefined }, values: [true] }])
})
