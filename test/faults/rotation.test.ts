import { decodeProtectedHeader } from 'jose'
import { expect, test } from 'vitest'
import { inSession } from '#dev/postgres.ts'
import { aToken } from '#test/support/keys.ts'
import { aDatabase, apiSecrets, runOrrery, startApi } from '#test/support/processes.ts'
import { createRest, inNewProject } from '#test/support/rest.ts'
import { openSocket, refusalOf, scopeHeaders } from '#test/support/socket.ts'
import { eventually } from '#test/support/wait.ts'

const encryptionKey = (fill: number): string => Buffer.alloc(32, fill).toString('base64')
const rotate = (databaseUrl: string, keys: string, ...args: string[]) =>
  runOrrery(['rotate-keys', ...args], { ORRERY_DATABASE_URL: databaseUrl, ORRERY_KEY_ENCRYPTION_KEYS: keys })

/** Returns the audit records of the platform: action, door, actor and the number of resources. */
const platformRecords = async ({ call }: Pick<ReturnType<typeof createRest>, 'call'>): Promise<unknown[]> => {
  type PlatformRecord = { action: string; door: string; actor: object; resources: string[] }
  const { body } = await call<PlatformRecord[]>('GET', '/api/audit/platform/')
  return body.map(({ action, door, actor, resources }) => [action, door, actor, resources.length])
}

test('after a rotation all data is readable with the new key only', async () => {
  const databaseUrl = await aDatabase()
  const { ORRERY_KEY_ENCRYPTION_KEYS: old } = apiSecrets()
  const next = `second:${encryptionKey(2)}`
  const before = await startApi({ databaseUrl })
  const rest = await inNewProject(before.url)
  const made = await rest.call<{ apiKey: string }>('POST', '/api/organizations/apiKeys/', { displayName: 'Kept' })
  const token = { permissions: [`organizations/${rest.scope.organizationId}:r`] }
  expect((await rest.call('POST', '/api/users/user-1/tokens/', token)).status).toBe(200)
  expect((await rest.call('POST', '/api/webhooks/', { url: 'https://hooks.example.com/' })).status).toBe(200)
  await before.stop()

  const rotated = rotate(databaseUrl, `${next},${old}`, '--signing-key')
  expect(rotated).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('1 API keys, 1 signing keys and 1 webhook secrets'),
  })
  expect(rotate(databaseUrl, `${next},${old}`).stdout).toContain('0 API keys, 0 signing keys and 0 webhook secrets')

  const after = await startApi({ databaseUrl, settings: { ORRERY_KEY_ENCRYPTION_KEYS: next } })
  const again = createRest(after.url, rest.scope)
  const records = await platformRecords(again)
  expect(records).toEqual([
    ['addSigningKey', 'cli', { kind: 'command', id: 'orrery rotate-keys' }, 1],
    ...Array.from({ length: 3 }, () => ['rotateEncryption', 'cli', { kind: 'command', id: 'orrery rotate-keys' }, 1]),
  ])
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

test('keys match the previous pepper until their fingerprints are rewritten with the current one', async () => {
  const databaseUrl = await aDatabase()
  const secrets = apiSecrets()
  const before = await startApi({ databaseUrl })
  const rest = await inNewProject(before.url)
  const permissions = [`organizations/${rest.scope.organizationId}:r`]
  const made = await rest.call<{ apiKey: string }>('POST', '/api/organizations/apiKeys/', {
    displayName: 'K',
    permissions,
  })
  await before.stop()

  const statusUnder = async (settings: Record<string, string>): Promise<number> => {
    const api = await startApi({ databaseUrl, settings })
    const { status } = await createRest(api.url, rest.scope, made.body.apiKey).call(
      'GET',
      '/api/organizations/apiKeys/',
    )
    await api.stop()
    return status
  }
  const current = { ORRERY_KEY_PEPPER: 'another-pepper-of-at-least-32-bytes' }
  const both = { ...current, ORRERY_KEY_PEPPER_PREVIOUS: secrets.ORRERY_KEY_PEPPER }
  expect(await statusUnder(current)).toBe(401)
  expect(await statusUnder(both)).toBe(200)
  const rotated = runOrrery(['rotate-keys'], { ORRERY_DATABASE_URL: databaseUrl, ...secrets, ...both })
  expect(rotated).toMatchObject({ status: 0, stdout: expect.stringContaining('1 fingerprints') })
  expect(await statusUnder(current)).toBe(200)
  const after = await startApi({ databaseUrl, settings: current })
  expect(await platformRecords(createRest(after.url))).toMatchObject([['rotatePepper', 'cli', {}, 1]])
  await after.stop()
})

test('a retired signing key ends its tokens within a second and leaves the key set, and the next token verifies', async () => {
  const databaseUrl = await aDatabase()
  const { ORRERY_KEY_ENCRYPTION_KEYS: keys } = apiSecrets()
  const api = await startApi({ databaseUrl })
  const rest = await inNewProject(api.url)
  const permissions = [`organizations/${rest.scope.organizationId}/**:r`]
  const mint = () => aToken(rest, 'ann', permissions)
  const token = await mint()
  const { kid = '' } = decodeProtectedHeader(token)
  const socket = await openSocket(api.url, { ...rest.scope, token })
  expect(rotate(databaseUrl, keys, '--retire-signing-key', 'nobody').stderr).toContain('nobody')
  expect(rotate(databaseUrl, keys, '--retire-signing-key', kid)).toMatchObject({ status: 0 })
  const atMs = performance.now()
  expect((await socket.closes()).code).toBe(4401)
  expect(performance.now() - atMs).toBeLessThan(1_000)
  const publishedKeyIds = async () => {
    const set = await rest.call<{ keys: { kid: string }[] }>('GET', '/.well-known/jwks.json')
    return set.body.keys.map((key) => key.kid)
  }
  await eventually('the key set without it', async () => !(await publishedKeyIds()).includes(kid), { timeoutMs: 1_000 })
  expect(await refusalOf(api.url, { headers: scopeHeaders({ ...rest.scope, token }) })).toMatchObject({ status: 401 })
  const next = await mint()
  expect(await publishedKeyIds()).toContain(decodeProtectedHeader(next).kid)
  await openSocket(api.url, { ...rest.scope, token: next })
  expect(await platformRecords(rest)).toMatchObject([
    ['retireSigningKey', 'cli', {}, 1],
    ['addSigningKey', 'cli', {}, 1],
  ])
  await api.stop()
})
