import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { WorldMetrics } from '#api/domain/worldMetrics/schema.ts'
import { freePort } from '#dev/ports.ts'
import { aCluster } from '#test/support/cluster.ts'
import { metricsApi } from '#test/support/metricsApi.ts'
import { type ApiProcess, aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import { createRest } from '#test/support/rest.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const cluster = aCluster()
const metrics = metricsApi(cluster.transport)
const dir = mkdtempSync(join(tmpdir(), 'orrery-metrics-test-'))
const key = 'a-key-of-at-least-thirty-two-characters'
let databaseUrl: string
let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>
let tenant: Tenant

beforeAll(async () => {
  await metrics.isInstalled()
  const port = String(await freePort())
  operator = await startOperator({
    ORRERY_LOGS_PORT: port,
    ORRERY_LOGS_ADDRESS: '127.0.0.1',
    ORRERY_LOGS_KEY: key,
    ORRERY_STOP_GRACE_SECONDS: '1',
  })
  const settings = { ORRERY_OPERATOR_URL: `http://127.0.0.1:${port}`, ORRERY_LOGS_KEY: key }
  databaseUrl = await aDatabase()
  api = await startApi({ databaseUrl, settings })
  tenant = await aTenant(api.url)
})
afterAll(async () => {
  await Promise.all([api?.stop(), operator?.stop(), metrics.isRemoved()])
  await cluster.close()
  rmSync(dir, { recursive: true, force: true })
})

const read = (world: string, { rest }: Pick<Tenant, 'rest'> = tenant) =>
  rest.call<WorldMetrics & { detail: string }>('GET', `/api/worlds/${world}/metrics/`)

/** Creates a world with a running server. */
const aRunningWorld = async (of = tenant): Promise<string> => {
  const id = await of.world()
  const namespace = `orrery-${of.scope.organizationId}`
  expect((await of.rest.call('POST', `/api/worlds/${id}/start/`)).status).toBe(200)
  await cluster.pod(namespace, id).exists()
  await cluster.pod(namespace, id).becomesReady()
  await eventually('the world is Active', async () => {
    const { body } = await of.rest.call<{ status: { phase: string } }>('GET', `/api/worlds/${id}/`)
    return body.status.phase === 'Active'
  })
  return id
}

test('a key that reads gets the newest sample of the container of the server, with the limits of its pod', async () => {
  const world = await aRunningWorld()
  const timestamp = new Date(Date.now() + 1_000).toISOString()
  metrics.uses(world, { cpu: '421123456n', memory: '1572864Ki', timestamp })
  const pod = await cluster.pod(`orrery-${tenant.scope.organizationId}`, world).exists()
  const apiKey = await tenant.key([`${tenant.paths.organization}/**:r`])
  const { status, body } = await read(world, { rest: createRest(api.url, tenant.scope, apiKey) })
  expect([status, body]).toEqual([
    200,
    {
      externalId: pod.metadata.uid,
      sampledAt: timestamp,
      windowSeconds: 15.009,
      cpuMillicores: 421.123,
      cpuLimitMillicores: expect.any(Number),
      memoryBytes: 1_610_612_736,
      memoryLimitBytes: expect.any(Number),
    },
  ])
  const { cpu = '', memory = '' } = pod.spec?.containers?.[0]?.resources?.limits ?? {}
  expect([`${body.cpuLimitMillicores}m`, `${(body.memoryLimitBytes ?? 0) / 2 ** 30}Gi`]).toEqual([
    /m$/.test(cpu) ? cpu : `${Number(cpu) * 1000}m`,
    memory,
  ])
})

test('many who read a world at the same time cause one request to the cluster', async () => {
  const world = await aRunningWorld()
  metrics.uses(world, { cpu: '1m', memory: '1Mi', timestamp: new Date(Date.now() + 1_000).toISOString() })
  const answers = await Promise.all(Array.from({ length: 10 }, () => read(world)))
  expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
  expect(metrics.asked().filter((each) => each === world)).toHaveLength(1)
})

test('a world without a server, without a sample or with that of a predecessor is a 409', async () => {
  const idle = await read(await tenant.world())
  expect([idle.status, idle.body.detail]).toEqual([
    409,
    'The world has no server, so it has no metrics. Start it first.',
  ])
  const [early, late] = [await aRunningWorld(), await aRunningWorld()]
  metrics.uses(late, { cpu: '1', memory: '1Gi', timestamp: '2026-01-01T00:00:00Z' })
  for (const world of [early, late]) {
    const { status, headers, body } = await read(world)
    expect([status, headers.get('retry-after')]).toEqual([409, '15'])
    expect(body.detail).toContain('no sample of the server yet: the status of its deployment is Running')
  }
  await tenant.rest.call('POST', `/api/worlds/${late}/stop/`)
  await cluster.pod(`orrery-${tenant.scope.organizationId}`, late).isGone()
  await eventually('no server', async () => (await read(late)).body.detail.startsWith('The world has no server'))
})

test('a world whose start waits for room is a 409 to be retried', async () => {
  const other = await aTenant(api.url)
  const { organizationId } = other.scope
  await other.rest.call('PATCH', `/api/organizations/${organizationId}/limits/`, { maxRunningCapacity: 1 })
  const world = await other.world()
  const namespace = `orrery-${organizationId}`
  await cluster.world(namespace, world).exists()
  await cluster.worlds.patch({ namespace, name: world }, { spec: { state: 'Running' } })
  const { headers } = await eventually('the start waits', async () => {
    const answer = await read(world, other)
    return answer.body.detail === 'The server has not started. Retry after the time in Retry-After.' && answer
  })
  expect(headers.get('retry-after')).toBe('15')
})

test('requests for metrics of a cluster that is silent do not hold up other requests of the organization', async () => {
  const world = await aRunningWorld()
  const silent = createServer(() => undefined).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
  const settings = { ORRERY_OPERATOR_URL: url, ORRERY_LOGS_KEY: key, ORRERY_DATABASE_POOL_SIZE: '4' }
  const other = await startApi({ databaseUrl, settings })
  try {
    const rest = createRest(other.url, tenant.scope, await tenant.key([`${tenant.paths.organization}/**:r`]))
    let answered = 0
    const reading = Array.from({ length: 4 }, () => read(world, { rest }).finally(() => (answered += 1)))
    await once(silent, 'request')
    expect((await rest.call('GET', `/api/worlds/${world}/`)).status).toBe(200)
    expect(answered).toBe(0)
    silent.closeAllConnections()
    expect((await Promise.all(reading)).map(({ status }) => status)).toEqual(Array(4).fill(503))
  } finally {
    silent.closeAllConnections()
    silent.close()
    await other.stop()
  }
})

test('an operator without the right says what to grant', async () => {
  const other = await aTenant(api.url)
  const world = await aRunningWorld(other)
  const name = 'orrery-operator-tenant'
  type Role = { metadata: object; rules: { apiGroups: string[] }[] }
  const role = JSON.parse(cluster.kubectl('get', 'clusterrole', name, '-o', 'json')) as Role
  const replace = (rules: Role['rules']): void => {
    const file = join(dir, 'role.json')
    writeFileSync(file, JSON.stringify({ ...role, metadata: { name }, rules }))
    cluster.kubectl('replace', '-f', file)
  }
  const mayRead = () => {
    const args = ['auth', 'can-i', 'get', 'pods.metrics.k8s.io', '-n', `orrery-${other.scope.organizationId}`]
    try {
      return cluster.kubectl(...args, '--as=orrery-operator').trim()
    } catch (error) {
      return (error as { stdout: string }).stdout.trim()
    }
  }
  expect(mayRead()).toBe('yes')
  replace(role.rules.filter(({ apiGroups }) => !apiGroups.includes('metrics.k8s.io')))
  try {
    await eventually('the right is gone', async () => mayRead() === 'no')
    const { status, body } = await read(world, other)
    expect([status, body.detail]).toEqual([501, expect.stringContaining('can grant it get on pods.metrics.k8s.io')])
  } finally {
    replace(role.rules)
  }
})

test('a metrics API that is down says where to look', async () => {
  const world = await aRunningWorld()
  metrics.stops()
  const { status, body } = await read(world)
  expect([status, body.detail]).toEqual([503, expect.stringContaining('kubectl get apiservice v1beta1.metrics.k8s.io')])
})
