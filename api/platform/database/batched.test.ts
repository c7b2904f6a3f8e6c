import { expect, test } from 'vitest'
import { batched } from './batched.ts'
import type { Database } from './client.ts'

/** Creates a read of squares that records the keys of its queries. Odd keys have no row. */
const createTestRead = () => {
  const queries: (readonly number[])[] = []
  const read = batched(async (_db, keys: readonly number[]) => {
    queries.push(keys)
    return keys.map((key) => (key % 2 === 0 ? key ** 2 : undefined))
  })
  return { queries, read }
}
const [db, otherDb] = [{} as Database, {} as Database]

test('reads of the same iteration of the event loop share a query, and each gets its row', async () => {
  const { queries, read } = createTestRead()
  expect(await Promise.all([read(db, 2), read(db, 3), read(db, 4), read(db, 2)])).toEqual([4, undefined, 16, 4])
  expect(queries).toEqual([[2, 3, 4, 2]])
})

test('a later read does not join a query that has started', async () => {
  const { queries, read } = createTestRead()
  await read(db, 2)
  await read(db, 2)
  expect(queries).toEqual([[2], [2]])
})

test('a query has at most 32 keys', async () => {
  const { queries, read } = createTestRead()
  const keys = Array.from({ length: 70 }, (_, at) => at * 2)
  expect(await Promise.all(keys.map((key) => read(db, key)))).toEqual(keys.map((key) => key ** 2))
  expect(queries.map(({ length }) => length)).toEqual([32, 32, 6])
})

test('databases do not share a query', async () => {
  const { queries, read } = createTestRead()
  await Promise.all([read(db, 2), read(otherDb, 4)])
  expect(queries).toEqual([[2], [4]])
})

test('a failed query fails its reads, and the next read starts another query', async () => {
  let isDown = true
  const read = batched(async (_db, keys: readonly number[]) => {
    if (isDown) throw new Error('down')
    return keys
  })
  const results = await Promise.allSettled([read(db, 1), read(db, 2)])
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  isDown = false
  expect(await read(db, 1)).toBe(1)
})
