import { existsSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endpoints } from '#api/endpoints.ts'
import { type ApiProcess, aDatabase, rootApiKey, startApi } from '#test/support/processes.ts'
import { getServers } from '#test/support/servers.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { patience } from '#test/support/wait.ts'

let api: ApiProcess
let tenant: Tenant
let worldId: string
let keys: Record<'without permissions' | 'of the organization' | 'of the platform', string>
beforeAll(async () => {
  const noLimit = '1000000'
  const settings = { ORRERY_LIMIT_REQUESTS_PER_SECOND: noLimit, ORRERY_LIMIT_REQUEST_BURST: noLimit }
  api = await startApi({ databaseUrl: await aDatabase(), settings })
  tenant = await aTenant(api.url)
  worldId = await tenant.world()
  keys = {
    'without permissions': await tenant.key([]),
    'of the organization': await tenant.key([`${tenant.paths.organization}/**:*`]),
    'of the platform': rootApiKey,
  }
  ids = await createObjects()
})
afterAll(() => api?.stop())

const many = <T>(length: number, make: (at: number) => T): T[] => Array.from({ length }, (_, at) => make(at))
const longKey = 'k'.repeat(5_000)
const keysOf = (length: number, value: unknown = 0) => Object.fromEntries(many(length, (at) => [`key${at}`, value]))

/** Bodies of up to 1 MiB that can make a server respond with, or process, much more than it received. */
const hostileBodies: Record<string, string> = {
  'a long key before many U+0000': `{"${longKey}":[${many(2_400, () => '"\\u0000"').join()}]}`,
  'the same at 1 MiB': `{"${'k'.repeat(300_000)}":[${many(80_000, () => '"\\u0000"').join()}]}`,
  'many unknown fields': JSON.stringify(keysOf(2_400)),
  'many unknown fields at 1 MiB': JSON.stringify(keysOf(80_000)),
  'long unknown fields': JSON.stringify(Object.fromEntries(many(4, (at) => [at + 'k'.repeat(250_000), 0]))),
  'deep nesting': `${'['.repeat(500_000)}${']'.repeat(500_000)}`,
  'deep objects': `${'{"a":'.repeat(2_000)}1${'}'.repeat(2_000)}`,
  'wrong types in every array': JSON.stringify({
    permissions: many(450, () => 1),
    legalPolicies: { eula: many(450, () => 1) },
    manifest: { serverPermissions: many(450, () => 1), clientPermissions: [] },
    args: many(450, () => 1),
    data: { userCollection: many(450, () => 1) },
  }),
  'wrong entries in every map': JSON.stringify({
    claims: Object.fromEntries(many(900, (at) => [`-${'c'.repeat(200)}${at}`, 'x'])),
    metadata: { labels: keysOf(450, 1), annotations: keysOf(450, {}) },
    data: { id: 1, config: keysOf(450, '\u0001') },
  }),
  'a million values': `[${many(500_000, () => '0').join()}]`,
  'huge numbers': `{"count":1e999,"capacity":${'9'.repeat(500_000)},"maxWorlds":-1e400,"runtime":{"capacity":1e308}}`,
  'prototype keys': `[${many(800, () => '{"__proto__":{"a":1}}').join()}]`,
}

/** Ids for the paths, by the name of their parameter. The objects exist, so that the body of a request is read. */
let ids: Readonly<Record<string, string>>

/** Creates an object of each kind that a path with a body names. */
const createObjects = async (): Promise<Readonly<Record<string, string>>> => {
  const { rest, scope } = tenant
  const { body: webhook } = await rest.call<{ documentId: string }>('POST', '/api/webhooks/', {
    url: 'https://hooks.example.com/a',
  })
  await rest.call('POST', `/api/worlds/${worldId}/bots/`, { count: 1 })
  const bots = await rest.call<{ documentId: string }[]>('GET', `/api/worlds/${worldId}/bots/`)
  const apiKeys = await rest.call<{ documentId: string }[]>('GET', '/api/organizations/apiKeys/')
  const documented = { channelId: 'main', tag: 'main', id: 'main', userId: 'user-7' }
  const absent = { deliveryId: `whd-${'0'.repeat(26)}`, tokenId: `tok-${'0'.repeat(26)}` }
  return {
    ...documented,
    ...absent,
    ...scope,
    worldId,
    webhookId: webhook.documentId,
    botDeploymentId: bots.body[0]?.documentId ?? '',
    apiKeyId: apiKeys.body[0]?.documentId ?? '',
  }
}

const pathOf = (path: string): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const id = ids[name]
    if (!id) throw new Error(`The test has no id for the parameter ${name} of ${path}.`)
    return id
  })

const sendTo = async (endpoint: (typeof endpoints)[number], apiKey: string, body: string) => {
  const response = await fetch(`${api.url}${pathOf(endpoint.path)}`, {
    method: endpoint.method.toUpperCase(),
    headers: {
      'x-api-key': apiKey,
      'x-svc-organization-id': tenant.scope.organizationId,
      'x-svc-project-id': tenant.scope.projectId,
      'content-type': 'application/json',
    },
    ...(endpoint.method === 'get' ? {} : { body }),
    signal: AbortSignal.timeout(20_000 * patience),
  })
  return { status: response.status, bytes: (await response.arrayBuffer()).byteLength }
}

const withBody = endpoints.filter(({ method }) => method !== 'get' && method !== 'delete')

describe('a response is at most 64 KB and 4 times its request, and no request ends the process:', () => {
  test.each(Object.keys(hostileBodies))('%s, sent to every endpoint with every kind of key', async (name) => {
    const body = hostileBodies[name] ?? ''
    const tooLong: unknown[] = []
    for (const endpoint of withBody) {
      for (const [whose, apiKey] of Object.entries(keys)) {
        const { status, bytes } = await sendTo(endpoint, apiKey, body).catch((error: Error) => ({
          status: `${error.message}: ${error.cause}`,
          bytes: Number.POSITIVE_INFINITY,
        }))
        if (bytes > 65_536 + 4 * body.length) tooLong.push({ endpoint: endpoint.operationId, whose, status, bytes })
      }
    }
    expect(tooLong).toEqual([])
    expect((await fetch(`${api.url}/livez`)).status).toBe(200)
  })

  test('a query with many values', async () => {
    const rest = await tenant.withKey([`${tenant.paths.organization}/**:r`])
    const status = many(7_000, () => 'x').join()
    const response = await rest.call('GET', `/api/worlds/${worldId}/deployments/?status=${status}`)
    expect(response.status).toBe(400)
    expect(JSON.stringify(response.body).length).toBeLessThan(65_536)
  })
})

describe('permissions are checked before the body is read:', () => {
  test.each([
    ['createOrganization needs its claim', 'POST', '/api/organizations/'],
    ['limits are set by the platform key', 'PATCH', '/api/organizations/{organizationId}/limits/'],
    ['keys are made by the verb *', 'POST', '/api/organizations/apiKeys/'],
  ])('%s', async (_, method, path) => {
    const rest = await tenant.withKey([`${tenant.paths.organization}/**:w`])
    const answer = await rest.call(method, pathOf(path), '{"not JSON')
    expect(answer).toMatchObject({ status: 403, body: { code: 'forbidden' } })
  })

  test.each(endpoints.filter(({ body, credential }) => body !== undefined && credential !== 'none'))(
    'a key without permissions gets no validation error from $operationId',
    async (endpoint) => {
      const { status } = await sendTo(endpoint, keys['without permissions'], '{"not JSON')
      expect([403, 404]).toContain(status)
    },
  )
})

test('a picture of an absent world is not stored', async () => {
  const absent = `wld-${'0'.repeat(26)}`
  const picture = await sharp({ create: { width: 4, height: 4, channels: 3, background: 'red' } })
    .png()
    .toBuffer()
  const response = await fetch(`${api.url}/api/worlds/${absent}/pictureUrl/`, {
    method: 'PATCH',
    headers: {
      'x-api-key': rootApiKey,
      'x-svc-organization-id': tenant.scope.organizationId,
      'x-svc-project-id': tenant.scope.projectId,
      'content-type': 'image/png',
    },
    body: new Uint8Array(picture),
  })
  expect(response.status).toBe(404)
  expect(existsSync(join(getServers().logDir, 'objects', 'pictures', absent))).toBe(false)
})

test('pictures are served at the rate of a client without a credential', async () => {
  const limited = await startApi({ databaseUrl: await aDatabase(), settings: { ORRERY_LIMIT_REQUEST_BURST: '5' } })
  const read = async (): Promise<number> => (await fetch(`${limited.url}/api/files/pictures/none.webp`)).status
  const statuses = await Promise.all(Array.from({ length: 200 }, read))
  expect(new Set(statuses)).toEqual(new Set([404, 429]))
  await limited.stop()
})
