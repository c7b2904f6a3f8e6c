import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { purgeDeleted } from '#api/domain/deletion/purge.ts'
import { eraseDeletedDocuments } from '#api/domain/documents/cleanup.ts'
import { openDatabase } from '#api/platform/database/client.ts'
import { systemClock } from '#shared/clock.ts'
import { concurrently } from '#test/support/concurrently.ts'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

let api: ApiProcess
let database: ReturnType<typeof openDatabase>
let sql: Client
beforeAll(async () => {
  const databaseUrl = await aDatabase()
  api = await startApi({ databaseUrl, settings: { ORRERY_LIMIT_MAX_DOCUMENT_BYTES_PER_SECOND: '10000' } })
  database = openDatabase({ url: databaseUrl, poolSize: 2 })
  sql = new Client(databaseUrl)
  await sql.connect()
})
afterAll(async () => {
  await Promise.all([api.stop(), database.close(), sql.end()])
})

const signal = new AbortController().signal
const dayMs = 86_400_000
const erase = (aheadMs = 0) =>
  eraseDeletedDocuments({ db: database.db, clock: { ...systemClock, now: () => Date.now() + aheadMs } }, signal)
const pathOf = (id: string): string => `/api/documents/liveConfig/${id}/`
/** Data that Postgres cannot compress, or that it compresses to little. */
const dataOf = (id: string, bytes: number, isRandom = true) => {
  const text = isRandom ? randomBytes(bytes).toString('latin1') : 'a'.repeat(bytes)
  return { data: { id, config: { text: text.replaceAll('\0', ' ') } } }
}

/** Returns the kept counts of an organization, and the same counted from the rows. */
const bothCounts = async ({ scope: { organizationId } }: Tenant) => {
  const read = async (text: string): Promise<unknown> => (await sql.query(text, [organizationId])).rows[0]
  return {
    kept: await read(`select coalesce(sum(documents), 0)::int as documents, coalesce(sum(bytes), 0)::int as bytes,
      coalesce(sum(kept_rows), 0)::int as "keptRows", coalesce(sum(kept_bytes), 0)::int as "keptBytes"
      from document_counts where organization_id = $1`),
    rows: await read(`select (count(*) filter (where deleted_at is null))::int as documents,
      coalesce(sum(pg_column_size(data)) filter (where deleted_at is null), 0)::int as bytes,
      (count(*) filter (where deleted_at is not null) + (select count(*) from kept_documents where organization_id = $1))::int
        as "keptRows",
      (select coalesce(sum(pg_column_size(data)), 0) from kept_documents where organization_id = $1)::int as "keptBytes"
      from documents where organization_id = $1`),
  }
}
const expectEqualCounts = async (tenant: Tenant) => {
  const { kept, rows } = await bothCounts(tenant)
  expect(kept).toEqual(rows)
  return rows as { documents: number; bytes: number; keptRows: number; keptBytes: number }
}
const writeAll = (tenant: Tenant) =>
  concurrently(120, async (at) => {
    const id = `document-${at % 25}`
    if (at % 6 === 5) return tenant.rest.call('DELETE', pathOf(id))
    return tenant.rest.call('PUT', pathOf(id), dataOf(id, at * 200, at % 2 === 0))
  })

test('the counts of documents equal the rows after concurrent writes, deletions, restores, retention and purges', async () => {
  const tenant = await aTenant(api.url)
  const { organizationId, projectId } = tenant.scope
  const { call } = tenant.rest
  const project = `/api/organizations/projects/${projectId}/`
  expect((await writeAll(tenant)).map(({ status }) => status)).toContain(200)
  const written = await expectEqualCounts(tenant)
  expect(written.documents).toBeGreaterThan(0)
  expect(written.bytes).toBeGreaterThan(10_000)
  await call('DELETE', '/api/organizations/projects/current/')
  expect(await expectEqualCounts(tenant)).toMatchObject({ documents: 0, keptBytes: written.bytes })
  expect((await call('POST', `${project}restore/`)).status).toBe(204)
  expect(await expectEqualCounts(tenant)).toMatchObject({ documents: written.documents, bytes: written.bytes })
  await call('DELETE', pathOf('document-0'))
  await erase(dayMs)
  expect(await expectEqualCounts(tenant)).toMatchObject({ keptRows: 0 })
  await writeAll(tenant)
  await expectEqualCounts(tenant)
  await call('DELETE', '/api/organizations/projects/current/')
  expect((await call('POST', `${project}purge/`)).status).toBe(204)
  await purgeDeleted(database, signal)
  await erase(dayMs)
  expect(await expectEqualCounts(tenant)).toEqual({ documents: 0, bytes: 0, keptRows: 0, keptBytes: 0 })
  await call('DELETE', `/api/organizations/${organizationId}/`)
  await call('POST', `/api/organizations/${organizationId}/purge/`)
  await purgeDeleted(database, signal)
  const { rowCount } = await sql.query('select from document_counts where organization_id = $1', [organizationId])
  expect(rowCount).toBe(0)
})

test('usage/ reads no document, so that it does not wait for their table', async () => {
  const tenant = await aTenant(api.url)
  await tenant.rest.call('PUT', pathOf('one'), dataOf('one', 100))
  await sql.query('begin')
  await sql.query('lock table documents, kept_documents in access exclusive mode')
  const usage = await tenant.rest.call<Record<string, { used: number }>>('GET', '/api/organizations/current/usage/')
  await sql.query('rollback')
  expect(usage.status).toBe(200)
  expect(usage.body.maxDocuments?.used).toBe(1)
})

test('an organization writes documents at its rate after a burst, with all of its keys, and deletes them at any time', async () => {
  const [tenant, other] = [await aTenant(api.url), await aTenant(api.url)]
  const permissions = (of: Tenant) => [`${of.paths.organization}/**:*`]
  const [first, second] = [await tenant.withKey(permissions(tenant)), await tenant.withKey(permissions(tenant))]
  // The burst is 1 MiB, since a minute of the rate would be less than the largest document.
  const put = (rest: typeof first) => rest.call<{ detail: string }>('PUT', pathOf('one'), dataOf('one', 400_000, false))
  expect([(await put(first)).status, (await put(second)).status]).toEqual([200, 200])
  const refused = await put(first)
  expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
  expect(refused.body.detail).toContain('maxDocumentBytesPerSecond')
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await put(await other.withKey(permissions(other)))).status).toBe(200)
  expect((await first.call('DELETE', pathOf('one'))).status).toBe(204)
  await tenant.rest.call('PATCH', `/api/organizations/${tenant.scope.organizationId}/limits/`, {
    maxDocumentBytesPerSecond: 2 ** 30,
  })
  await eventually('the raised limit acts', async () => (await put(first)).status === 200)
})

test('a restore of documents waits until the rate covers the restores before it, and changes nothing before', async () => {
  const tenant = await aTenant(api.url)
  const rest = await tenant.withKey([`${tenant.paths.organization}/**:*`])
  for (const id of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) {
    expect((await tenant.rest.call('PUT', pathOf(id), dataOf(id, 200_000))).status).toBe(200)
  }
  const restore = () => rest.call('POST', `/api/organizations/projects/${tenant.scope.projectId}/restore/`)
  expect((await rest.call('DELETE', '/api/organizations/projects/current/')).status).toBe(200)
  expect((await restore()).status).toBe(204)
  expect((await rest.call('DELETE', '/api/organizations/projects/current/')).status).toBe(200)
  const deleted = await expectEqualCounts(tenant)
  const refused = await restore()
  expect(refused.status).toBe(429)
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(await expectEqualCounts(tenant)).toEqual(deleted)
})
