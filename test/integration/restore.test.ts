import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { purgeDeleted } from '#api/domain/deletion/purge.ts'
import { eraseDeletedDocuments } from '#api/domain/documents/cleanup.ts'
import { worlds } from '#api/domain/worlds/table.ts'
import { openDatabase } from '#api/platform/database/client.ts'
import { systemClock } from '#shared/clock.ts'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import { createRest } from '#test/support/rest.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const cluster = aCluster()
let databaseUrl: string
let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>
let database: ReturnType<typeof openDatabase>

beforeAll(async () => {
  databaseUrl = await aDatabase()
  operator = await startOperator()
  api = await startApi({ databaseUrl })
  database = openDatabase({ url: databaseUrl, poolSize: 2 })
})
afterAll(async () => {
  await Promise.all([api?.stop(), operator?.stop()])
  await database?.close()
  await cluster.close()
})

type Deleted = { documentId: string; name: string; isRestorable: boolean }
type Shown = { name: string; status: { phase: string; runId?: string }; launchContext: { isPublic: boolean } }
const deletedOf = async (tenant: Tenant) => (await tenant.rest.call<Deleted[]>('GET', '/api/worlds/deleted/')).body
const documentPath = '/api/documents/kvStore/k/'
const signal = new AbortController().signal
const countRows = async (table: string, where = 'true'): Promise<number> => {
  const { rows } = await database.db.execute<{ n: number }>(
    sql.raw(`select count(*)::int as n from ${table} where ${where}`),
  )
  return rows[0]?.n ?? 0
}

/** A tenant with a public, running world that has a bot deployment and a document. */
const aVictim = async () => {
  const tenant = await aTenant(api.url)
  const { call } = tenant.rest
  const namespace = `orrery-${tenant.scope.organizationId}`
  const world = await tenant.world()
  const inWorld = { 'x-svc-world-id': world }
  await call('PATCH', `/api/worlds/${world}/`, { isPublic: true })
  await call('POST', `/api/worlds/${world}/start/`)
  await call('POST', `/api/worlds/${world}/bots/`, { count: 1 })
  await call('PUT', documentPath, { data: { key: 'k', store: 'kvstoreClient', data: { n: 1 } } }, inWorld)
  await cluster.pod(namespace, world).exists()
  const shown = async () => (await call<Shown>('GET', `/api/worlds/${world}/`)).body
  const isRemoved = () =>
    eventually('the world can be restored', async () =>
      (await deletedOf(tenant)).some(({ documentId, isRestorable }) => documentId === world && isRestorable),
    )
  /** Checks that the world is back, without its run, with all that it had. */
  const isBack = async (): Promise<void> => {
    const { status, launchContext } = await shown()
    expect(status).toMatchObject({ phase: 'Inactive' })
    expect(status.runId).toBeUndefined()
    expect(launchContext.isPublic).toBe(false)
    expect((await call<unknown[]>('GET', `/api/worlds/${world}/bots/`)).body).toHaveLength(1)
    expect((await call<unknown[]>('GET', `/api/worlds/${world}/deployments/`)).body).toHaveLength(1)
    expect((await call<{ data: object }>('GET', documentPath, undefined, inWorld)).body.data).toMatchObject({
      data: { n: 1 },
    })
    await cluster.world(namespace, world).exists()
  }
  return { tenant, call, namespace, world, shown, isRemoved, isBack }
}

test.each([
  ['REST', ({ call, world }: Awaited<ReturnType<typeof aVictim>>) => call('DELETE', `/api/worlds/${world}/`)],
  [
    'kubectl',
    async ({ namespace, world }: Awaited<ReturnType<typeof aVictim>>) =>
      cluster.kubectl('-n', namespace, 'delete', 'world', world, '--wait=false'),
  ],
])('a world that %s deleted is restored inactive, with its bots, documents and deployments', async (_, remove) => {
  const victim = await aVictim()
  const { tenant, call, world, isRemoved, isBack } = victim
  await remove(victim)
  await isRemoved()
  expect((await call('GET', `/api/worlds/${world}/`)).status).toBe(404)
  expect((await call('POST', `/api/worlds/${world}/restore/`)).status).toBe(204)
  await isBack()
  expect(await deletedOf(tenant)).toEqual([])
  expect((await call('POST', `/api/worlds/${world}/restore/`)).status).toBe(404)
  expect((await call('POST', `/api/worlds/${world}/start/`)).status).toBe(200)
})

test('a world is not restored while its resource exists, nor beyond maxWorlds', async () => {
  const { tenant, call, namespace, world, isRemoved } = await aVictim()
  const held = (finalizers: string[] | null) =>
    cluster.kubectl(
      ...['-n', namespace, 'patch', 'world', world, '--type=json', '-p'],
      JSON.stringify([{ op: 'add', path: '/metadata/finalizers/-', value: finalizers?.[0] }]),
    )
  held(['example.com/held'])
  await call('DELETE', `/api/worlds/${world}/`)
  const early = await call<{ detail: string }>('POST', `/api/worlds/${world}/restore/`)
  expect([early.status, early.body.detail]).toEqual([409, expect.stringContaining('its resource exists')])
  cluster.kubectl('-n', namespace, 'patch', 'world', world, '--type=merge', '-p', '{"metadata":{"finalizers":null}}')
  await isRemoved()
  await call('PATCH', `/api/organizations/${tenant.scope.organizationId}/limits/`, { maxWorlds: 0 })
  expect((await call('POST', `/api/worlds/${world}/restore/`)).status).toBe(409)
})

test('a deleted world has no scheduled starts; after its restore, one of the last hour is done and an older one is missed', async () => {
  const tenant = await aTenant(api.url)
  const { call } = tenant.rest
  const minuteMs = 60_000
  const thisMinuteMs = Math.floor(Date.now() / minuteMs) * minuteMs
  /** A world whose daily start was so many minutes ago. `isDue` sets its schedule back to that time. */
  const aWorld = async (minutes: number) => {
    const at = new Date(thisMinuteMs - minutes * minuteMs)
    const schedule = { start: `${at.getUTCMinutes()} ${at.getUTCHours()} * * *` }
    const id = await tenant.world({ runtime: { schedule } })
    const nextAction = { what: 'start' as const, at: at.toISOString() }
    const isDue = () => database.db.update(worlds).set({ nextAction }).where(eq(worlds.id, id))
    const reasons = async () => {
      const { body } = await call<{ reason: string }[]>('GET', `/api/worlds/${id}/events/`)
      return body.map(({ reason }) => reason)
    }
    return { id, isDue, reasons }
  }
  const [late, tooLate, present] = [await aWorld(20), await aWorld(90), await aWorld(10)]
  for (const { id } of [late, tooLate]) {
    await cluster.world(`orrery-${tenant.scope.organizationId}`, id).exists()
    await call('DELETE', `/api/worlds/${id}/`)
  }
  for (const { isDue } of [late, tooLate, present]) await isDue()
  await eventually('the start of the other world', async () => (await present.reasons()).includes('Started'))
  expect(await countRows('world_events', `world_id in ('${late.id}', '${tooLate.id}')`)).toBe(0)
  for (const { id } of [late, tooLate]) {
    await eventually('the restore', async () => (await call('POST', `/api/worlds/${id}/restore/`)).status === 204)
  }
  await eventually('the start', async () => (await late.reasons()).includes('Started'))
  await eventually('the missed start', async () => (await tooLate.reasons()).includes('ScheduleMissed'))
  expect(await countRows('deployments', `world_id in ('${late.id}', '${tooLate.id}')`)).toBe(1)
})

test('a restore needs w on the project', async () => {
  const { tenant, call, world, isRemoved } = await aVictim()
  await call('DELETE', `/api/worlds/${world}/`)
  await isRemoved()
  const reader = await tenant.withKey([`${tenant.paths.project}:r`])
  expect((await reader.call('POST', `/api/worlds/${world}/restore/`)).status).toBe(403)
  const writer = await tenant.withKey([`${tenant.paths.project}:w`, `${tenant.paths.project}/**:w`])
  expect((await writer.call('POST', `/api/worlds/${world}/restore/`)).status).toBe(204)
})

test('a deleted project is restored with the worlds that were deleted with it', async () => {
  const { tenant, call, world, isBack } = await aVictim()
  const earlier = await tenant.world({ name: 'Earlier' })
  await call('DELETE', `/api/worlds/${earlier}/`)
  await call('DELETE', '/api/organizations/projects/current/')
  expect((await call('GET', '/api/organizations/projects/current/')).status).toBe(404)
  const path = `/api/organizations/projects/${tenant.scope.projectId}/restore/`
  await eventually('the project is restored', async () => (await call('POST', path)).status === 204)
  await isBack()
  const listed = await call<{ documentId: string }[]>('GET', '/api/worlds/')
  expect(listed.body.map(({ documentId }) => documentId)).toEqual([world])
})

test('a deleted organization is absent with its keys, and is restored with everything in it', async () => {
  const { tenant, call, isBack } = await aVictim()
  const key = await tenant.key([`${tenant.paths.organization}/**:*`])
  const own = createRest(api.url, tenant.scope, key)
  const path = `/api/organizations/${tenant.scope.organizationId}/`
  expect((await own.call('DELETE', path)).status).toBe(403)
  expect((await call('DELETE', path)).status).toBe(204)
  await eventually('the key is invalid', async () => (await own.call('GET', '/api/worlds/')).status === 401)
  expect((await call('GET', path)).status).toBe(404)
  expect((await call('GET', '/api/worlds/')).status).toBe(404)
  await eventually('it is restored', async () => (await call('POST', `${path}restore/`)).status === 204)
  await isBack()
  await eventually('the key is valid', async () => (await own.call('GET', '/api/worlds/')).status === 200)
})

test('a purge erases a world, a project and an organization for good', async () => {
  const { tenant, call, world, isRemoved } = await aVictim()
  const { organizationId, projectId } = tenant.scope
  await call('DELETE', `/api/worlds/${world}/`)
  await isRemoved()
  await eraseDeletedDocuments({ db: database.db, clock: systemClock }, signal)
  expect(await countRows('kept_documents', `world_id = '${world}'`)).toBe(1)
  expect((await call('POST', `/api/worlds/${world}/purge/`)).status).toBe(204)
  expect(await deletedOf(tenant)).toEqual([])
  expect((await call('POST', `/api/worlds/${world}/restore/`)).status).toBe(404)
  await purgeDeleted(database, signal)
  for (const table of ['bot_deployments', 'kept_documents', 'launch_contexts', 'deployments']) {
    expect([table, await countRows(table, `world_id = '${world}'`)]).toEqual([table, 0])
  }
  expect(await database.db.select().from(worlds).where(eq(worlds.id, world))).toEqual([])
  await call('DELETE', '/api/organizations/projects/current/')
  expect((await call('POST', `/api/organizations/projects/${projectId}/purge/`)).status).toBe(204)
  expect((await call('DELETE', `/api/organizations/${organizationId}/`)).status).toBe(204)
  expect((await call('POST', `/api/organizations/${organizationId}/purge/`)).status).toBe(204)
  await eventually('the organization is erased', async () => {
    await purgeDeleted(database, signal)
    return (await countRows('organizations', `id = '${organizationId}'`)) === 0
  })
  expect((await call('POST', `/api/organizations/${organizationId}/restore/`)).status).toBe(404)
})

test('a purge needs the verb on everything below the project, as a deletion does', async () => {
  const tenant = await aTenant(api.url)
  const { projectId } = tenant.scope
  const world = await tenant.world()
  await tenant.rest.call('DELETE', `/api/worlds/${world}/`)
  const shallow = await tenant.withKey([`${tenant.paths.project}:w`])
  expect((await shallow.call('POST', `/api/worlds/${world}/purge/`)).status).toBe(403)
  await tenant.rest.call('DELETE', '/api/organizations/projects/current/')
  const headers = { 'x-svc-project-id': '' }
  for (const action of ['restore', 'purge']) {
    const path = `/api/organizations/projects/${projectId}/${action}/`
    // A caller that may not restore the project cannot tell a deleted one from an absent one.
    expect([action, (await shallow.call('POST', path, undefined, headers)).status]).toEqual([action, 404])
  }
})

test('a transient world that expired is not kept', async () => {
  const { tenant, call, world } = await aVictim()
  await database.db.execute(sql`
    update worlds set transient = true, started_at = now() - interval '2 hours',
      runtime = runtime || '{"durationMinutes": 60}'::jsonb where id = ${world}`)
  // The operator may have deleted it, if a push was under way.
  const namespace = `orrery-${tenant.scope.organizationId}`
  cluster.kubectl('-n', namespace, 'delete', 'world', world, '--wait=false', '--ignore-not-found')
  await eventually('its row is gone', async () => (await countRows('worlds', `id = '${world}'`)) === 0)
  expect((await call('POST', `/api/worlds/${world}/restore/`)).status).toBe(404)
})
