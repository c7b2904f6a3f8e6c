import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'

let api: ApiProcess
let database: Client
beforeAll(async () => {
  const databaseUrl = await aDatabase()
  api = await startApi({ databaseUrl })
  database = new Client(databaseUrl)
  await database.connect()
})
afterAll(async () => {
  await database.end()
  await api.stop()
})

type Problem = { detail: string; errors: { path: string; message: string }[] }
type World = { documentId: string; name: string; manifest: { serverPermissions: string[] } }

const post = ({ rest }: Tenant, body: object) =>
  rest.call<Problem & { worldId: string }>('POST', '/api/worlds/', { name: 'World', transient: false, ...body })
const patch = ({ rest }: Tenant, id: string, body: object) =>
  rest.call<Problem & World>('PATCH', `/api/worlds/${id}/`, body)

/** 256 texts of up to 256 characters, with that many bytes as JSON. A character is a quotation mark, which JSON escapes. */
const manifestOf = (bytes: number) => {
  const serverPermissions: string[] = []
  const manifest = { serverPermissions, clientPermissions: [] }
  while (JSON.stringify(manifest).length < bytes - 600) serverPermissions.push('"'.repeat(256))
  serverPermissions.push('')
  const missing = bytes - JSON.stringify(manifest).length
  serverPermissions[serverPermissions.length - 1] = '"'.repeat(Math.min(255, missing >> 1)) + 'x'.repeat(missing % 2)
  const left = bytes - JSON.stringify(manifest).length
  if (left >= 3) serverPermissions.push('x'.repeat(left - 3))
  return manifest
}
const kib64 = 64 * 1024

test('a manifest has at most 64 KiB as JSON', async () => {
  const tenant = await aTenant(api.url)
  expect(JSON.stringify(manifestOf(kib64))).toHaveLength(kib64)
  const { status, body } = await post(tenant, { manifest: manifestOf(kib64) })
  expect(status).toBe(200)
  const sentence = { path: '/manifest', message: 'must have at most 65536 bytes as JSON' }
  expect((await post(tenant, { manifest: manifestOf(kib64 + 1) })).body.errors).toEqual([sentence])
  const refused = await patch(tenant, body.worldId, { manifest: manifestOf(kib64 + 1) })
  expect([refused.status, refused.body.errors]).toEqual([400, [sentence]])
  expect((await patch(tenant, body.worldId, { manifest: manifestOf(kib64) })).status).toBe(200)
})

/** 32 KiB of text, in which JSON escapes each character with five more. */
const escaped = {
  annotations: Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`a${at}`, '\u0001'.repeat(4_094)])),
  labels: {},
}

test('a world has at most 256 KiB, also if each field is within its limit', async () => {
  const tenant = await aTenant(api.url)
  const { status, body } = await post(tenant, { metadata: escaped })
  expect([status, body.detail]).toEqual([400, expect.stringContaining('The limit is 262144.')])
  const id = await tenant.world({ manifest: manifestOf(kib64) })
  expect((await patch(tenant, id, { metadata: escaped })).status).toBe(400)
})

test('a larger world of an earlier version is listed and read, and can become smaller or change otherwise', async () => {
  const tenant = await aTenant(api.url)
  const id = await tenant.world()
  const permissions = JSON.stringify(Array.from({ length: 256 }, () => '😀'.repeat(256)))
  await database.query(
    `update worlds set metadata = $3, manifest = jsonb_build_object('serverPermissions', $2::jsonb, 'clientPermissions', $2::jsonb)
     where id = $1`,
    [id, permissions, JSON.stringify(escaped)],
  )
  const { body } = await tenant.rest.call<World[]>('GET', '/api/worlds/')
  expect(body.map(({ manifest }) => manifest.serverPermissions.length)).toEqual([256])
  const renamed = await patch(tenant, id, { name: 'Renamed' })
  expect([renamed.status, renamed.body.name]).toEqual([200, 'Renamed'])
  expect((await patch(tenant, id, { manifest: { serverPermissions: [], clientPermissions: [] } })).status).toBe(200)
  expect((await patch(tenant, id, { description: 'x'.repeat(256) })).status).toBe(400)
  expect((await patch(tenant, id, { metadata: { annotations: {}, labels: {} } })).status).toBe(200)
  expect((await patch(tenant, id, { description: 'x'.repeat(256) })).status).toBe(200)
})

test('the settings of an organization are bounded', async () => {
  const { rest } = await aTenant(api.url)
  const create = (body: object) => rest.call<Problem>('POST', '/api/organizations/', { name: 'Acme', ...body })
  const eula = ['x'.repeat(65_536), 'x'.repeat(65_536), 'x'.repeat(32_700)]
  expect((await create({ legalPolicies: { eula } })).status).toBe(200)
  const message = (bytes: number): string => `must have at most ${bytes} bytes as JSON`
  const refusals = await Promise.all([
    create({ legalPolicies: { eula: [...eula, 'x'.repeat(100)] } }),
    create({ websiteInfo: { headTags: Array.from({ length: 8 }, () => 'x'.repeat(4_096)) } }),
    create({ features: { loginPanelDisclaimer: '\u0001'.repeat(4_096), customerConnectUrl: '\u0001'.repeat(2_000) } }),
  ])
  expect(refusals.flatMap(({ body }) => body.errors)).toEqual([
    { path: '/legalPolicies', message: message(163_840) },
    { path: '/websiteInfo', message: message(32_768) },
    { path: '/features', message: message(32_768) },
  ])
})
