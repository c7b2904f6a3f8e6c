import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const cluster = aCluster()
let databaseUrl: string
let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>
let database: Client
let tenant: Tenant
let other: Tenant
let namespace: string

beforeAll(async () => {
  databaseUrl = await aDatabase()
  ;[api, operator] = await Promise.all([startApi({ databaseUrl }), startOperator()])
  ;[tenant, other] = await Promise.all([aTenant(api.url), aTenant(api.url)])
  database = new Client(databaseUrl)
  await database.connect()
  namespace = `orrery-${tenant.scope.organizationId}`
  // The first world of a tenant creates its namespace.
  await cluster.world(namespace, await tenant.world()).exists()
})
afterAll(async () => {
  await database?.end()
  await Promise.all([api?.stop(), operator?.stop()])
  await cluster.close()
})

/** Instants that ISO 8601 allows, but that the database cannot store or gives back as another year. */
const outside = ['0000-01-01T00:00:00Z', '0049-12-31T00:00:00Z', '1969-12-31T23:59:59Z', '9999-12-31T23:59:59-14:00']
/** The first and the last instant that is allowed. */
const limits = ['1970-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z']

const keysPath = '/api/organizations/apiKeys/'
type Key = { documentId: string; displayName: string; expiresAt?: string }
const readKeys = async (): Promise<Key[]> => {
  const { status, body } = await tenant.rest.call<Key[]>('GET', keysPath)
  expect(status).toBe(200)
  return body
}

const statusOf = async (of: Tenant, path: string): Promise<number> => (await of.rest.call('GET', path)).status

/** Runs kubectl, and reports whether the API server accepted the change. */
const tryKubectl = (...args: string[]): boolean => {
  try {
    cluster.kubectl('-n', namespace, ...args)
    return true
  } catch (error) {
    expect(String(error)).toMatch(/spec\.startedAt/)
    return false
  }
}

/** Expects that every read which shows the world succeeds, also for another tenant. */
const expectReadable = async (id: string): Promise<void> => {
  for (const path of [`/api/worlds/${id}/`, '/api/worlds/', `/api/worlds/${id}/deployments/`, '/api/worlds/public/'])
    expect([path, await statusOf(tenant, path)]).toEqual([path, 200])
  expect(await statusOf(other, '/api/worlds/public/')).toBe(200)
}

describe.each(outside)('%s is refused', (instant) => {
  test('as the expiry of an API key', async () => {
    expect((await tenant.rest.call('POST', keysPath, { displayName: 'k', expiresAt: instant })).status).toBe(400)
    expect((await tenant.rest.call('POST', keysPath, { displayName: 'k' })).status).toBe(200)
    const key = (await readKeys())[0]?.documentId ?? expect.fail('no key')
    expect((await tenant.rest.call('PATCH', `${keysPath}${key}/`, { expiresAt: instant })).status).toBe(400)
  })

  test.each(['since', 'until'])('as the filter %s of the audit records', async (name) => {
    expect(await statusOf(tenant, `/api/audit/?${name}=${encodeURIComponent(instant)}`)).toBe(400)
  })

  test('as the start of a log', async () => {
    const id = await tenant.world()
    expect(await statusOf(tenant, `/api/worlds/${id}/logs/?since=${encodeURIComponent(instant)}`)).toBe(400)
  })
})

test.each(limits)('%s is an expiry, and is read as it was written', async (expiresAt) => {
  expect((await tenant.rest.call('POST', keysPath, { displayName: expiresAt, expiresAt })).status).toBe(200)
  expect((await readKeys()).find(({ displayName }) => displayName === expiresAt)?.expiresAt).toBe(expiresAt)
})

test('a start time by kubectl of a run that the operator has not seen yet leaves the world readable', async () => {
  await operator.stop()
  const ids = await Promise.all(outside.map(() => tenant.world()))
  for (const name of ids) {
    await tenant.rest.call('POST', `/api/worlds/${name}/start/`)
    await eventually('it is pushed', async () => (await cluster.worlds.get({ namespace, name })).spec.runId)
  }
  await api.stop()
  const patched = outside.map((startedAt, at) => {
    const patch = JSON.stringify({ spec: { startedAt } })
    return tryKubectl('patch', 'world', ids[at] ?? '', '--type=merge', '-p', patch)
  })
  operator = await startOperator()
  for (const id of ids) {
    const pod = cluster.pod(namespace, id)
    await pod.exists()
    await pod.becomesReady()
  }
  api = await startApi({ databaseUrl, port: Number(new URL(api.url).port) })
  for (const id of ids) {
    await eventually('it is Active in REST', async () => {
      const { rows } = await database.query<{ phase: string }>('select phase from worlds where id = $1', [id])
      return rows[0]?.phase === 'Active'
    })
    await expectReadable(id)
  }
  // The API server cannot know the year in UTC.
  expect(patched).toEqual([false, false, false, true])
})
