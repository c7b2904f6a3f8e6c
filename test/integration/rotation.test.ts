import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { inSession } from '#dev/postgres.ts'
import { aDatabase, apiSecrets, startApi } from '#test/support/processes.ts'
import { createRest, inNewProject } from '#test/support/rest.ts'

const encryptionKey = (fill: number): string => Buffer.alloc(32, fill).toString('base64')
const rotate = (databaseUrl: string, keys: string, ...args: string[]) =>
  spawnSync(process.execPath, ['api/rotateKeys.ts', ...args], {
    env: { PATH: process.env.PATH ?? '', ORRERY_DATABASE_URL: databaseUrl, ORRERY_KEY_ENCRYPTION_KEYS: keys },
    encoding: 'utf8',
    timeout: 120_000,
  })

test('after a rotation all data is readable with the new key only', async () => {
  const databaseUrl = await aDatabase()
  const { ORRERY_KEY_ENCRYPTION_KEYS: old } = apiSecrets()
  const next = `second:${encryptionKey(2)}`
  const before = await startApi({ databaseUrl })
  const rest = await inNewProject(before.url)
  const made = await rest.call<{ apiKey: string }>('POST', '/api/organizations/apiKeys/', { displayName: 'Kept' })
  const token = { permissions: [`organizations/${rest.scope.organizationId}:r`] }
  expect((await rest.call('POST', '/api/users/user-1/tokens/', token)).status).toBe(200)
  await before.stop()

  const rotated = rotate(databaseUrl, `${next},${old}`, '--signing-key')
  expect(rotated).toMatchObject({ status: 0, stdout: expect.stringContaining('1 API keys and 1 signing keys') })
  expect(rotate(databaseUrl, `${next},${old}`).stdout).toContain('0 API keys and 0 signing keys')

  const after = await startApi({ databaseUrl, settings: { ORRERY_KEY_ENCRYPTION_KEYS: next } })
  const again = createRest(after.url, rest.scope)
  const keys = await again.call<{ keyString: string }[]>('GET', '/api/organizations/apiKeys/')
  expect(keys.body.map(({ keyString }) => keyString)).toEqual([made.body.apiKey])
  expect((await again.call('POST', '/api/users/user-1/tokens/', token)).status).toBe(200)
  const set = await again.call<{ keys: unknown[] }>('GET', '/.well-known/jwks.json')
  expect(set.body.keys).toHaveLength(2)
  await after.stop()
  expect(rotate(databaseUrl, old).stderr).toContain('does not contain the key "second"')
})

test('no API key is stored in plain text', async () => {
  const databaseUrl = await aDatabase()
  const api = await startApi({ databaseUrl })
  const rest = await inNewProject(api.url)
  const headers = { 'idempotency-key': 'once' }
  const body = { displayName: 'Secret' }
  const made = await rest.call<{ apiKey: string }>('POST', '/api/organizations/apiKeys/', body, headers)
  const again = await rest.call<{ apiKey: string }>('POST', '/api/organizations/apiKeys/', body, headers)
  expect(again.body).toEqual(made.body)
  await api.stop()
  await inSession(databaseUrl, async (sql) => {
    const tables = await sql.query<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = 'public'`,
    )
    expect(tables.rows.map(({ name }) => name)).toContain('api_keys')
    for (const { name } of tables.rows) {
      const { rows } = await sql.query(`select to_jsonb(t) as row from "${name}" t`)
      expect(JSON.stringify(rows)).not.toContain(made.body.apiKey)
    }
  })
})
