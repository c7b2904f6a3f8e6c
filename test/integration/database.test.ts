import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDatabase } from '#api/platform/database/client.ts'
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
