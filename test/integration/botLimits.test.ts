import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { botDeployments } from '#api/domain/bots/table.ts'
import { organizations } from '#api/domain/organizations/table.ts'
import { openDatabase } from '#api/platform/database/client.ts'
import { groupVersion } from '#shared/resources/group.ts'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

// Each door through which bots can come, and what it does with bots beyond the limits.

type Problem = { code?: string; detail?: string; errors?: { path: string }[] }
type Shown = { documentId: string; configuration: { count: number; cpu: string } }

const mebibyte = 2 ** 20
const cluster = aCluster()
let databaseUrl: string
let database: ReturnType<typeof openDatabase>
let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>

/** The ConfigMap lowers the cpu of the smallest profile from 500m. */
const settings = { ORRERY_SCALING_PROFILES: 'default/orrery-scaling-profiles' }

beforeAll(async () => {
  cluster.kubectl('create', 'configmap', 'orrery-scaling-profiles', '--from-literal=Capacity10=cpuLimit: 250m')
  databaseUrl = await aDatabase()
  ;[api, operator] = await Promise.all([startApi({ databaseUrl, settings }), startOperator(settings)])
  database = openDatabase({ url: databaseUrl, poolSize: 2 })
})
afterAll(async () => {
  await Promise.all([api?.stop(), operator?.stop()])
  await database?.close()
  cluster.kubectl('delete', 'configmap', 'orrery-scaling-profiles')
  await cluster.close()
})

const namespaceOf = ({ scope }: Tenant): string => `orrery-${scope.organizationId}`
const scaled = (profile: string) => ({ networking: { strategy: 'Default', scaling: { profile } } })
/** A tenant with a world of a profile, with the limits of its organization. */
const aTenantWith = async (limits: object, profile = 'Capacity10') => {
  const tenant = await aTenant(api.url)
  const { call } = tenant.rest
  const limit = (changes: object) =>
    call<object>('PATCH', `/api/organizations/${tenant.scope.organizationId}/limits/`, changes)
  expect((await limit(limits)).status).toBe(200)
  const worldId = await tenant.world(scaled(profile))
  const make = async (body: object, world = worldId) => {
    const made = await call<Problem>('POST', `/api/worlds/${world}/bots/`, body)
    return { ...made, path: made.headers.get('location') ?? '' }
  }
  const used = async () =>
    (await call<Record<string, { used: number }>>('GET', '/api/organizations/current/usage/')).body
  return { tenant, call, limit, worldId, make, used, namespace: namespaceOf(tenant) }
}

describe('a bot larger than the scaling profile of its world', () => {
  test.each([
    [{ cpu: '251m' }, 'The cpu 251m'],
    [{ cpu: '999999' }, 'The cpu 999999'],
    [{ memory: '2049Mi' }, 'The memory 2049Mi'],
    [{ memory: '999999Gi' }, 'The memory 999999Gi'],
  ])('is refused over REST: %j', async (size, detail) => {
    const { call, make } = await aTenantWith({})
    const refused = await make({ count: 0, ...size })
    expect(refused).toMatchObject({ status: 403, body: { code: 'size_not_allowed' } })
    expect(refused.body.detail).toContain(detail)
    const { path } = await make({ count: 1, cpu: '0.25', memory: '2Gi' })
    const changed = await call<Problem>('PATCH', path, { count: 1, ...size })
    expect(changed).toMatchObject({ status: 403, body: { code: 'size_not_allowed' } })
    expect((await call<Shown>('GET', path)).body.configuration).toMatchObject({ cpu: '0.25', memory: '2Gi' })
  })

  test('prevents a smaller profile of its world, over REST and with kubectl', async () => {
    const { call, worldId, make, namespace } = await aTenantWith({}, 'Capacity30')
    const { path } = await make({ count: 1, cpu: '251m' })
    await cluster.world(namespace, worldId).exists()
    const shrink = () => call<Problem>('PATCH', `/api/worlds/${worldId}/`, scaled('Capacity10'))
    expect(await shrink()).toMatchObject({ status: 409, body: { code: 'limit_reached' } })
    const profile = '{"spec":{"scaling":{"profile":"Capacity10"},"runtime":{"capacity":10}}}'
    cluster.kubectl('-n', namespace, 'patch', 'world', worldId, '--type=merge', '-p', profile)
    await eventually('the profile is put back', async () => {
      const { spec, status } = await cluster.worlds.get({ namespace, name: worldId })
      const synced = status?.conditions?.find(({ type }) => type === 'Synced')
      return spec.scaling.profile === 'Capacity30' && synced?.message.includes('has a cpu of 251m')
    })
    expect((await call('PATCH', path, { count: 1, cpu: '250m' })).status).toBe(200)
    expect((await shrink()).status).toBe(200)
  })

  test('is neither adopted nor run if kubectl creates it, and put back if kubectl enlarges it', async () => {
    const { worldId, make, namespace, call } = await aTenantWith({})
    const { path } = await make({ count: 1 })
    const name = path.split('/').at(-2) ?? ''
    await cluster.botDeployment(namespace, name).exists()
    await createBots(namespace, 'large', { worldName: worldId, count: 1, cpu: '96' })
    await eventually('it is refused', async () => {
      const { status } = await cluster.botDeployment(namespace, 'large').exists()
      const synced = status?.conditions?.find(({ type }) => type === 'Synced')
      return synced?.status === 'False' && synced.message.includes('The cpu 96')
    })
    cluster.kubectl('-n', namespace, 'patch', 'bots', name, '--type=merge', '-p', '{"spec":{"cpu":"96"}}')
    await eventually('it is put back', async () => {
      const { spec, status } = await cluster.botDeployment(namespace, name).exists()
      const synced = status?.conditions?.find(({ type }) => type === 'Synced')
      return spec.cpu === '100m' && synced?.reason === 'EditRefused'
    })
    expect((await call<Shown[]>('GET', `/api/worlds/${worldId}/bots/`)).body).toHaveLength(1)
    await activate(namespace, worldId, call)
    await cluster.bots(namespace, name).are([0])
    await eventually('it waits for the API', async () => {
      const { status } = await cluster.botDeployment(namespace, 'large').exists()
      return status?.conditions?.some(({ type, reason }) => type === 'Progressing' && reason === 'WaitingForApi')
    })
    expect(await cluster.bots(namespace, 'large').indexes()).toEqual([])
  })
})

test.each([{ cpu: '0' }, { cpu: '0m' }, { cpu: '0.00' }, { memory: '0' }, { memory: '0.0Gi' }, { memory: 'much' }])(
  'a quantity that is 0 or none is refused with 400: %j',
  async (size) => {
    const { call, make } = await aTenantWith({})
    const path = `/${Object.keys(size)[0]}`
    expect(await make({ count: 1, ...size })).toMatchObject({ status: 400, body: { errors: [{ path }] } })
    const made = await make({ count: 1 })
    expect(await call('PATCH', made.path, { count: 1, ...size })).toMatchObject({
      status: 400,
      body: { errors: [{ path }] },
    })
  },
)

describe('all bots of an organization', () => {
  test.each([
    [{ maxBotCpu: 1 }, { cpu: '0.1' }, 'a cpu of 1.2 cores together. The limit is 1 (maxBotCpu)'],
    [{ maxBotMemory: 1_000 * mebibyte }, { memory: '100Mi' }, '(maxBotMemory)'],
  ])('stay within %j, also in concurrent creates in several worlds', async (limits, size, detail) => {
    const { tenant, make, worldId } = await aTenantWith(limits)
    const ids = [worldId, ...(await Promise.all([1, 2, 3, 4].map(() => tenant.world(scaled('Capacity10')))))]
    const made = await Promise.all(ids.map((id) => make({ count: 4, ...size }, id)))
    expect(made.map(({ status }) => status).sort()).toEqual([200, 200, 409, 409, 409])
    const refused = made.find(({ status }) => status === 409)
    expect(refused?.body).toMatchObject({ code: 'limit_reached', detail: expect.stringContaining(detail) })
  })

  test('stay within the limits in changes, and above a lowered limit may shrink, but not grow', async () => {
    const { call, limit, make, used } = await aTenantWith({ maxBotCpu: 0.5, maxBotMemory: 1_024 * mebibyte })
    const { path } = await make({ count: 4 })
    expect(await used()).toMatchObject({
      maxBotCpu: { limit: 0.5, used: 0.4 },
      maxBotMemory: { limit: 1_024 * mebibyte, used: 512 * mebibyte },
    })
    const patch = async (changes: object) => (await call('PATCH', path, changes)).status
    expect([await patch({ count: 6 }), await patch({ count: 4, cpu: '126m' })]).toEqual([409, 409])
    expect([await patch({ count: 5 }), await patch({ count: 5, memory: '205Mi' })]).toEqual([200, 409])
    expect((await limit({ maxBotCpu: 0.2001 })).body).toMatchObject({ maxBotCpu: 0.2 })
    expect([await patch({ count: 6 }), await patch({ count: 5, cpu: '101m' })]).toEqual([409, 409])
    expect([await patch({ count: 5, args: ['x'] }), await patch({ count: 4 })]).toEqual([200, 200])
    expect([await patch({ count: 4, cpu: '60m' }), await patch({ count: 5 })]).toEqual([200, 409])
    expect((await make({ count: 1 })).status).toBe(409)
    expect((await make({ count: 0 })).status).toBe(200)
  })

  test('count once deleted until they are gone, and then no more', async () => {
    const { call, make, used, namespace } = await aTenantWith({ maxBotCpu: 0.5 })
    const { path } = await make({ count: 5 })
    const name = path.split('/').at(-2) ?? ''
    const bots = cluster.botDeployment(namespace, name)
    await bots.exists()
    await operator.stop()
    await call('DELETE', path)
    await eventually('the deletion', async () => (await bots.exists()).metadata.deletionTimestamp !== undefined)
    expect([(await call('GET', path)).status, (await make({ count: 1 })).status]).toEqual([404, 409])
    operator = await startOperator(settings)
    await eventually('there is room', async () => (await make({ count: 5 })).status === 200)
    expect((await used()).maxBotCpu).toEqual({ limit: 0.5, used: 0.5 })
  })

  test('do not exceed the limits with a restored world or organization', async () => {
    const { tenant, call, limit, worldId, make } = await aTenantWith({ maxBotCpu: 0.5 })
    await make({ count: 5 })
    await call('DELETE', `/api/worlds/${worldId}/`)
    const restore = () => call<Problem>('POST', `/api/worlds/${worldId}/restore/`)
    await eventually('it can be restored', async () => {
      const { body } = await call<{ documentId: string; isRestorable: boolean }[]>('GET', '/api/worlds/deleted/')
      return body.some(({ documentId, isRestorable }) => documentId === worldId && isRestorable)
    })
    const other = await make({ count: 1 }, await tenant.world())
    expect(await restore()).toMatchObject({ status: 409, body: { code: 'limit_reached' } })
    expect((await restore()).body.detail).toContain('a cpu of 0.6 cores together. The limit is 0.5 (maxBotCpu)')
    const setCpu = (cpu: string) =>
      database.db.update(botDeployments).set({ cpu }).where(eq(botDeployments.worldId, worldId))
    await setCpu('251m')
    expect(await restore()).toMatchObject({ status: 403, body: { code: 'size_not_allowed' } })
    await setCpu('100m')
    await call('PATCH', other.path, { count: 0 })
    expect((await restore()).status).toBe(204)

    await limit({ maxBotCpu: 0.4 })
    const path = `/api/organizations/${tenant.scope.organizationId}/`
    expect((await call('DELETE', path)).status).toBe(204)
    const restoreAll = () => call<Problem>('POST', `${path}restore/`)
    await eventually('the limit refuses the restore', async () => {
      const { status, body } = await restoreAll()
      return status === 409 && body.detail?.includes('(maxBotCpu)')
    })
    await database.db
      .update(organizations)
      .set({ limits: { maxBotCpu: 0.5 } })
      .where(eq(organizations.id, tenant.scope.organizationId))
    expect((await restoreAll()).status).toBe(204)
  })

  test('beyond the limits are not adopted if kubectl creates them, and put back if kubectl scales them', async () => {
    const { call, worldId, make, namespace } = await aTenantWith({ maxBotCpu: 0.5 })
    const { path } = await make({ count: 4 })
    const name = path.split('/').at(-2) ?? ''
    await cluster.botDeployment(namespace, name).exists()
    cluster.kubectl('-n', namespace, 'scale', 'botdeployment', name, '--replicas=6')
    await eventually('the count is put back', async () => {
      const { spec, status } = await cluster.botDeployment(namespace, name).exists()
      const synced = status?.conditions?.find(({ type }) => type === 'Synced')
      return spec.count === 4 && synced?.reason === 'EditRefused' && synced.message.includes('(maxBotCpu)')
    })
    await createBots(namespace, 'more', { worldName: worldId, count: 2 })
    await eventually('they are refused', async () => {
      const { status } = await cluster.botDeployment(namespace, 'more').exists()
      const synced = status?.conditions?.find(({ type }) => type === 'Synced')
      return synced?.status === 'False' && synced.message.includes('(maxBotCpu)')
    })
    await call('PATCH', path, { count: 3 })
    await eventually('they are adopted', async () => {
      const { body } = await call<Shown[]>('GET', `/api/worlds/${worldId}/bots/`)
      return body.length === 2 && body.every(({ configuration }) => configuration.count > 1)
    })
  })
})

test('limits that an older version stored are ignored', async () => {
  const { tenant, call, used } = await aTenantWith({ maxWorlds: 7 })
  const older = sql`${organizations.limits} || '{"maxBotCpuMillicores": 1, "maxBotMemoryBytes": 1}'::jsonb`
  const { organizationId } = tenant.scope
  await database.db.update(organizations).set({ limits: older }).where(eq(organizations.id, organizationId))
  const { body } = await call<object>('PATCH', `/api/organizations/${organizationId}/limits/`, {})
  expect(Object.keys(body).sort()).toEqual(Object.keys(await used()).sort())
  expect(body).toMatchObject({ maxWorlds: 7, maxBotCpu: 2_000 })
})

type Call = Awaited<ReturnType<typeof aTenantWith>>['call']

/** Starts a world and lets its server become Ready. */
const activate = async (namespace: string, worldId: string, call: Call): Promise<void> => {
  expect((await call('POST', `/api/worlds/${worldId}/start/`)).status).toBe(200)
  const server = cluster.pod(namespace, worldId)
  await server.exists()
  await server.becomesReady()
}

const createBots = (namespace: string, name: string, spec: object) =>
  cluster.transport.request({
    method: 'POST',
    path: `/apis/${groupVersion}/namespaces/${namespace}/botdeployments`,
    body: { apiVersion: groupVersion, kind: 'BotDeployment', metadata: { namespace, name }, spec },
  })
