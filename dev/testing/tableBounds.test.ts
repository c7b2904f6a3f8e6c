import { globSync, readFileSync } from 'node:fs'
import { is } from 'drizzle-orm'
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core'
import { expect, test } from 'vitest'
import { tableBounds } from './tableBounds.ts'

test('every table has a bound, and every bound has a table', async () => {
  const modules = await Promise.all(
    globSync('api/**/table.ts').map((file) => import(`../../${file}`) as Promise<Record<string, unknown>>),
  )
  const tables = modules.flatMap((exports) => Object.values(exports).filter((each) => is(each, PgTable)))
  const names = tables.map((table) => getTableConfig(table as PgTable).name)
  expect([...new Set(names)].sort()).toEqual(Object.keys(tableBounds).sort())
})

test.each(Object.entries(tableBounds))('the bound of %s is shown by a test', (_, { file, title }) => {
  expect(readFileSync(file, 'utf8')).toContain(title)
})
