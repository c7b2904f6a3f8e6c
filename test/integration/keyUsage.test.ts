import { eq, isNull } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { apiKeys } from '#api/domain/apiKeys/table.ts'
import { writeKeyUsage } from '#api/domain/apiKeys/usage.ts'
import { createKeyUsage } from '#api/platform/auth/keyUsage.ts'
import { type Database, openDatabase } from '#api/platform/database/client.ts'
import { aDatabase, startApi } from '#test/support/processes.ts'
import { aTenant } from '#test/support/tenant.ts'

const nowMs = Date.parse('2026-01-01T00:00:00.000Z')
let db: Database
let close: () => Promise<void>
let ids: string[]

beforeAll(async () => {
  const url = await aDatabase()
  const api = await startApi({ databaseUrl: url })
  const { rest, paths } = await aTenant(api.url)
  for (const displayName of ['first', 'second']) {
    const body = { displayName, permissions: [`${paths.organization}:r`] }
    expect((await rest.call('POST', '/api/organizations/apiKeys/', body)).status).toBe(200)
  }
  await api.stop()
  const opened = openDatabase({ url, poolSize: 2 })
  db = opened.db
  close = opened.close
  const rows = await db.select().from(apiKeys).where(isNull(apiKeys.lastUsedAt))
  ids = rows.map(({ id }) => id)
  expect(ids).toHaveLength(2)
})
afterAll(() => close?.())

const lastUsedOf = async (id: string | undefined): Promise<Date | null | undefined> =>
  (
    await db
      .select()
      .from(apiKeys)
      .where(eq(apiKeys.id, id ?? ''))
  )[0]?.lastUsedAt

test('the use of a key whose row is locked is written later', async () => {
  const [first, second] = ids
  const usage = createKeyUsage()
  for (const id of ids) usage.note(id)
  await db.transaction(async (tx) => {
    await tx
      .select()
      .from(apiKeys)
      .where(eq(apiKeys.id, first ?? ''))
      .for('update')
    await writeKeyUsage(db, usage, nowMs)
  })
  expect(await lastUsedOf(second)).toEqual(new Date(nowMs))
  expect(await lastUsedOf(first)).toBeNull()
  await writeKeyUsage(db, usage, nowMs + 5_000)
  expect(await lastUsedOf(first)).toEqual(new Date(nowMs + 5_000))
  expect(await lastUsedOf(second)).toEqual(new Date(nowMs))
  expect(usage.take()).toEqual([])
})
