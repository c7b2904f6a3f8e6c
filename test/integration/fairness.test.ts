import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { inSession } from '#dev/postgres.ts'
import { holdRow } from '#test/support/heldRow.ts'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import { createRest } from '#test/support/rest.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

let databaseUrl: string
let replicas: ApiProcess[]
beforeAll(async () => {
  databaseUrl = await aDatabase()
  replicas = [await startApi({ databaseUrl }), await startApi({ databaseUrl })]
})
afterAll(async () => {
  await Promise.all(replicas.map((replica) => replica.stop()))
})

const urlOf = (at: number): string => replicas[at]?.url ?? ''
/** Creates a tenant whose requests have a key of its own. */
const aTenantWithKey = async (worlds: number) => {
  const tenant = await aTenant(urlOf(0))
  const ids: string[] = []
  for (let at = 0; at < worlds; at += 1) ids.push(await tenant.world({ name: `World ${at}` }))
  const permissions = [`${tenant.paths.organization}/**:*`]
  return { ...tenant, ids, rest: await tenant.withKey(permissions), apiKey: await tenant.key(permissions) }
}
const startAll = ({ rest }: Pick<Tenant, 'rest'>) =>
  rest.call<{ code?: string; detail?: string }>('POST', '/api/worlds/actions/', {
    action: 'start',
    filter: { q: 'world' },
  })

/** Returns the number of requests that wait for the row of their organization. */
const countWaitingRequests = () =>
  inSession(databaseUrl, async (sql) => {
    const { rows } = await sql.query(
      `select from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock' and query like '%from organizations%for no key update%'`,
    )
    return rows.length
  })

test.each([
  ['another one', true],
  ['the platform key', false],
])('serves a tenant while the requests of %s wait for a lock', async (_, hasKey) => {
  const other = await aTenantWithKey(1)
  const busy = hasKey ? await aTenantWithKey(0) : await aTenant(urlOf(0))
  const row = await holdRow(databaseUrl, 'organizations', busy.scope.organizationId)
  const body = { name: 'World', transient: false }
  const waiting = Array.from({ length: 60 }, () => busy.rest.call('POST', '/api/worlds/', body))
  await row.isWaitedFor(6)
  const answers = [
    await other.rest.call('GET', `/api/worlds/${other.ids[0]}/`),
    await other.rest.call('POST', '/api/worlds/', body),
    // Without a credential.
    await fetch(`${urlOf(0)}/api/organizations/${other.scope.organizationId}/`, {
      headers: { 'x-svc-organization-id': other.scope.organizationId },
    }),
  ]
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  await row.release()
  const statuses = (await Promise.all(waiting)).map(({ status }) => status)
  expect(new Set(statuses)).toEqual(new Set([200]))
})

test('serves a tenant while the requests of two others wait for locks', async () => {
  const other = await aTenantWithKey(1)
  const busy = [await aTenantWithKey(0), await aTenantWithKey(0)]
  const rows = await Promise.all(busy.map(({ scope }) => holdRow(databaseUrl, 'organizations', scope.organizationId)))
  const body = { name: 'World', transient: false }
  const waiting = busy.flatMap(({ rest }) => Array.from({ length: 30 }, () => rest.call('POST', '/api/worlds/', body)))
  await eventually('the requests wait', async () => (await countWaitingRequests()) >= 9)
  expect((await other.rest.call('GET', `/api/worlds/${other.ids[0]}/`)).status).toBe(200)
  // Half of the 16 connections, and one for the second organization.
  expect(await countWaitingRequests()).toBe(9)
  await Promise.all(rows.map(({ release }) => release()))
  expect(new Set((await Promise.all(waiting)).map(({ status }) => status))).toEqual(new Set([200]))
})

test('the worlds of a bulk action and other requests of an organization share its connections', async () => {
  const busy = await aTenantWithKey(8)
  const row = await holdRow(databaseUrl, 'organizations', busy.scope.organizationId)
  const body = { name: 'World', transient: false }
  const bulk = startAll(busy)
  await row.isWaitedFor(4)
  const waiting = Array.from({ length: 20 }, () => busy.rest.call('POST', '/api/worlds/', body))
  await eventually('the requests wait', async () => (await countWaitingRequests()) >= 8)
  const other = await aTenantWithKey(1)
  expect((await other.rest.call('GET', `/api/worlds/${other.ids[0]}/`)).status).toBe(200)
  expect(await countWaitingRequests()).toBe(8)
  await row.release()
  expect((await bulk).body).toMatchObject({ results: busy.ids.map(() => ({ status: 200 })) })
  expect(new Set((await Promise.all(waiting)).map(({ status }) => status))).toEqual(new Set([200]))
})

test('a creation that waits for its project does not delay creations in other projects of the organization', async () => {
  const { rest, scope } = await aTenant(urlOf(0))
  const made = await rest.call<{ projectId: string }>('POST', '/api/organizations/projects/', { name: 'Other' })
  const other = createRest(urlOf(0), { ...scope, projectId: made.body.projectId })
  const body = { name: 'World', transient: false }
  const row = await holdRow(databaseUrl, 'projects', scope.projectId)
  const waiting = rest.call('POST', '/api/worlds/', body)
  await row.isWaitedFor(1)
  expect((await other.call('POST', '/api/worlds/', body)).status).toBe(200)
  await row.release()
  expect((await waiting).status).toBe(200)
})

test('serves a tenant while the look-ups of another one wait for a lock', async () => {
  const [busy, other] = [await aTenantWithKey(0), await aTenantWithKey(1)]
  const read = () => other.rest.call('GET', `/api/worlds/${other.ids[0]}/`)
  const refused = () => busy.rest.call('POST', '/api/worlds/', { name: 7 })
  // Afterwards both keys are cached.
  expect([(await read()).status, (await refused()).status]).toEqual([200, 400])
  const blocker = new Client(databaseUrl)
  await blocker.connect()
  await blocker.query('begin')
  // Reading a world needs no row of its project.
  await blocker.query('lock table projects in access exclusive mode')
  const waiting = Array.from({ length: 60 }, refused)
  const countWaiting = async (): Promise<number> => {
    await blocker.query('select pg_stat_clear_snapshot()')
    const { rows } = await blocker.query(
      `select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%from "projects"%'`,
    )
    return rows.length
  }
  await eventually(
    'the look-ups of the scope of refused requests wait for the lock',
    async () => (await countWaiting()) >= 6,
  )
  expect((await read()).status).toBe(200)
  // An organization may use half of the 16 connections.
  expect(await countWaiting()).toBeLessThanOrEqual(8)
  await blocker.query('rollback')
  await blocker.end()
  const statuses = (await Promise.all(waiting)).map(({ status }) => status)
  expect(new Set(statuses)).toEqual(new Set([400]))
})

test('runs one bulk action of an organization at a time, and that of another organization meanwhile', async () => {
  const [busy, other] = [await aTenantWithKey(30), await aTenantWithKey(1)]
  const answers = await Promise.all([...Array.from({ length: 5 }, () => startAll(busy)), startAll(other)])
  const statuses = answers.map(({ status }) => status)
  expect(statuses.at(-1)).toBe(200)
  expect(statuses.slice(0, 5).toSorted()).toEqual([200, 429, 429, 429, 429])
  const refused = answers.find(({ status }) => status === 429)
  expect(refused?.body.code).toBe('rate_limited')
  expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await startAll(busy)).status).toBe(200)
})

test('starts a world once when bulk actions on two replicas start it at the same time', async () => {
  const { ids, rest, scope, apiKey } = await aTenantWithKey(20)
  const bulks = [rest, createRest(urlOf(1), scope, apiKey)].map((each) => startAll({ rest: each }))
  expect((await Promise.all(bulks)).map(({ status }) => status)).toEqual([200, 200])
  const runs = await Promise.all(ids.map((id) => rest.call<unknown[]>('GET', `/api/worlds/${id}/deployments/`)))
  expect(runs.map((each) => each.body.length)).toEqual(ids.map(() => 1))
})

test('a scan whose statement takes more than 5 s is a 503 with Retry-After', async () => {
  const { rest } = await aTenantWithKey(1)
  const blocker = new Client(databaseUrl)
  await blocker.connect()
  await blocker.query('begin')
  await blocker.query('lock table worlds in access exclusive mode')
  const { status, headers, body } = await rest.call<{ code?: string }>('GET', '/api/worlds/?label=team')
  await blocker.query('rollback')
  await blocker.end()
  expect([status, body.code]).toEqual([503, 'unavailable'])
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await rest.call('GET', '/api/worlds/?label=team')).status).toBe(200)
})
