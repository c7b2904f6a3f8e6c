import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import { openSocket, refusalOf, scopeHeaders } from '#test/support/socket.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'

type Use = { limit: number; used: number }
type Usage = Record<string, Use>
type Problem = { code?: string; detail?: string }

let api: ApiProcess
beforeAll(async () => {
  const settings = {
    ORRERY_LIMIT_REQUESTS_PER_SECOND: '1',
    ORRERY_LIMIT_REQUEST_BURST: '8',
    ORRERY_LIMIT_MAX_REQUESTS_PER_SECOND: '1',
    ORRERY_LIMIT_SOCKETS_PER_KEY: '2',
    ORRERY_LIMIT_MAX_CONNECTIONS: '3',
  }
  api = await startApi({ databaseUrl: await aDatabase(), settings })
})
afterAll(() => api?.stop())

const usageOf = async ({ rest }: Tenant) => (await rest.call<Usage>('GET', '/api/organizations/current/usage/')).body
const limit = ({ rest, scope }: Tenant, limits: object) =>
  rest.call<object>('PATCH', `/api/organizations/${scope.organizationId}/limits/`, limits)
const put = ({ rest }: Tenant, id: string, size = 1) =>
  rest.call<Problem>('PUT', `/api/documents/liveConfig/${id}/`, {
    // Random enough that the database cannot compress it to nothing.
    data: { id, config: { text: Array.from({ length: size }, (_, at) => (at * 2_654_435_761).toString(36)).join('') } },
  })

describe('an organization', () => {
  test('sees every limit with its use', async () => {
    const tenant = await aTenant(api.url)
    const before = await usageOf(tenant)
    const limits = (await limit(tenant, {})).body
    expect(Object.keys(before).sort()).toEqual(Object.keys(limits).sort())
    expect(Object.fromEntries(Object.entries(before).map(([name, { limit: most }]) => [name, most]))).toEqual(limits)
    const worldId = await tenant.world({ networking: { strategy: 'LoadBalancer', scaling: { profile: 'Capacity10' } } })
    await tenant.rest.call('POST', `/api/worlds/${worldId}/start/`)
    await tenant.rest.call('POST', `/api/worlds/${worldId}/bots/`, { count: 2 })
    await tenant.key([`${tenant.paths.organization}:r`])
    await put(tenant, 'a')
    await openSocket(api.url, { ...tenant.scope, apiKey: await tenant.key([`${tenant.paths.organization}/**:r`]) })
    const { maxDocumentBytes, ...after } = await usageOf(tenant)
    expect(after).toMatchObject({
      maxWorlds: { used: 1 },
      maxWorldCapacity: { used: 10 },
      maxRunningCapacity: { used: 10 },
      maxNodePorts: { used: 2 },
      maxLoadBalancers: { used: 1 },
      maxBotDeployments: { used: 1 },
      maxBotCpu: { used: 0.2 },
      maxBotMemory: { used: 2 * 128 * 2 ** 20 },
      maxApiKeys: { used: 2 },
      maxDocuments: { used: 1 },
      maxConnections: { used: 1 },
    })
    expect(maxDocumentBytes?.used).toBeGreaterThan(10)
  })

  test('has at most maxApiKeys keys, also after concurrent creates', async () => {
    const tenant = await aTenant(api.url)
    await limit(tenant, { maxApiKeys: 2 })
    const make = () =>
      tenant.rest.call<Problem>('POST', '/api/organizations/apiKeys/', {
        displayName: 'One more',
        permissions: [`${tenant.paths.organization}:r`],
      })
    const made = await Promise.all([make(), make(), make(), make()])
    expect(made.map(({ status }) => status).sort()).toEqual([200, 200, 409, 409])
    expect(made.find(({ status }) => status === 409)?.body.detail).toContain('maxApiKeys')
  })

  test('has at most maxDocuments documents, can still change them, and can create one after a deletion', async () => {
    const tenant = await aTenant(api.url)
    await limit(tenant, { maxDocuments: 2 })
    expect([(await put(tenant, 'a')).status, (await put(tenant, 'b')).status]).toEqual([200, 200])
    expect(await put(tenant, 'c')).toMatchObject({ status: 409, body: { code: 'limit_reached' } })
    expect((await put(tenant, 'a')).status).toBe(200)
    await tenant.rest.call('DELETE', '/api/documents/liveConfig/a/')
    expect((await put(tenant, 'c')).status).toBe(200)
  })

  test('writes no document once it has maxDocumentBytes, until one is deleted', async () => {
    const tenant = await aTenant(api.url)
    await limit(tenant, { maxDocumentBytes: 10_000 })
    expect((await put(tenant, 'a', 5_000)).status).toBe(200)
    expect(await put(tenant, 'b')).toMatchObject({ status: 409, body: { code: 'limit_reached' } })
    await tenant.rest.call('DELETE', '/api/documents/liveConfig/a/')
    expect((await put(tenant, 'b')).status).toBe(200)
  })

  test('has maxRequestsPerSecond for all of its keys, without affecting another organization', async () => {
    const [tenant, other] = [await aTenant(api.url), await aTenant(api.url)]
    const permissions = (of: Tenant) => [`${of.paths.organization}/**:r`]
    const answers = []
    for (const rest of [
      await tenant.withKey(permissions(tenant)),
      await tenant.withKey(permissions(tenant)),
      await tenant.withKey(permissions(tenant)),
    ]) {
      for (let at = 0; at < 6; at += 1) answers.push(await rest.call<Problem>('GET', '/api/worlds/'))
    }
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused.length).toBeGreaterThan(0)
    expect(refused[0]?.body.detail).toContain('maxRequestsPerSecond')
    const rest = await other.withKey(permissions(other))
    expect((await rest.call('GET', '/api/worlds/')).status).toBe(200)
  })

  test('has maxConnections for all of its keys, without affecting another organization', async () => {
    const [tenant, other] = [await aTenant(api.url), await aTenant(api.url)]
    const key = (of: Tenant) => of.key([`${of.paths.organization}/**:r`])
    const [first, second] = [await key(tenant), await key(tenant)]
    for (const apiKey of [first, first, second]) await openSocket(api.url, { ...tenant.scope, apiKey })
    const refused = await refusalOf(api.url, { headers: scopeHeaders({ ...tenant.scope, apiKey: second }) })
    expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
    await openSocket(api.url, { ...other.scope, apiKey: await key(other) })
  })
})
