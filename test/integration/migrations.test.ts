import { expect, test } from 'vitest'
import { migrateDatabase } from '#api/platform/database/migrate.ts'
import { inSession } from '#dev/postgres.ts'
import { aDatabase, runOrrery } from '#test/support/processes.ts'

const inRecords = (url: string, text: string) => inSession(url, async (sql) => (await sql.query(text)).rows)

const migrate = (url: string) => {
  const api = new URL(url)
  api.username = `api_${api.pathname.slice(1)}`
  return runOrrery(['migrate'], { ORRERY_DATABASE_URL: api.href, ORRERY_DATABASE_OWNER_URL: url })
}

test('a database with a migration that this version does not have is refused and stays as it is', async () => {
  const url = await aDatabase()
  await migrateDatabase({ url })
  const records = 'select * from drizzle.__drizzle_migrations order by id'
  // As if other statements had made the tables, and the migration of this version was pending.
  await inRecords(url, `update drizzle.__drizzle_migrations set hash = 'other', created_at = created_at - 1`)
  const before = await inRecords(url, records)
  const { status, stderr } = migrate(url)
  expect(status).toBe(1)
  expect(stderr).toContain('migration that this version does not have')
  expect(stderr).toContain('a new, empty database')
  expect(await inRecords(url, records)).toEqual(before)
})

test('a database that a later version has migrated is accepted, as after a rollback', async () => {
  const url = await aDatabase()
  await migrateDatabase({ url })
  await inRecords(
    url,
    `insert into drizzle.__drizzle_migrations (hash, created_at)
     select 'later', max(created_at) + 1 from drizzle.__drizzle_migrations`,
  )
  expect(migrate(url)).toMatchObject({ status: 0, stderr: '' })
})
