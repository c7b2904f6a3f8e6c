import { expect, test } from 'vitest'
import { createStatementNames, withStatementName } from './statements.ts'

const use = (names: ReturnType<typeof createStatementNames>, text: string, times: number): string | undefined => {
  let name: string | undefined
  for (let count = 0; count < times; count += 1) name = names.nameOf(text)
  return name
}

test('names a statement at its fifth use, and keeps the name', () => {
  const names = createStatementNames()
  expect(use(names, 'select $1', 4)).toBeUndefined()
  const name = use(names, 'select $1', 1)
  expect(name).toBeDefined()
  expect(use(names, 'select $1', 10)).toBe(name)
  expect(use(names, 'select $2', 5)).not.toBe(name)
})

test('names at most 128 statements', () => {
  const names = createStatementNames()
  const given = new Set(Array.from({ length: 200 }, (_, index) => use(names, `select ${index}`, 5)))
  given.delete(undefined)
  expect(given.size).toBe(128)
  expect(use(names, 'select 0', 1)).toBeDefined()
})

test('never names a statement that searches a queue', () => {
  const names = createStatementNames()
  for (const text of [
    'select from cluster_outbox where id = $1',
    'delete from "webhook_deliveries" where "webhook_deliveries"."id" = $1',
    'with due as (select 1) update cluster_outbox set attempts = $1',
  ]) {
    expect(use(names, text, 10)).toBeUndefined()
  }
  expect(use(names, 'insert into cluster_outbox values ($1) on conflict (id) do update set id = $1', 10)).toBeDefined()
})

test('names a statement that is used often among many that are used once', () => {
  const names = createStatementNames()
  let name: string | undefined
  for (let round = 0; round < 5; round += 1) {
    name = names.nameOf('often')
    for (let other = 0; other < 100; other += 1) names.nameOf(`once ${round} ${other}`)
  }
  expect(name).toBeDefined()
})

test('does not change a query that has no parameters, has a name or is a string', () => {
  const names = createStatementNames()
  for (const [query, values] of [
    [{ text: 'begin' }, undefined],
    [{ text: 'select 1' }, []],
    [{ text: 'select $1', name: 'own' }, [1]],
    ['select $1', [1]],
  ] as const) {
    for (let count = 0; count < 10; count += 1) expect(withStatementName(names, query, values)).toBe(query)
  }
})
