import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { worlds } from '#api/domain/worlds/table.ts'
import { openDatabase } from '#api/platform/database/client.ts'
import { clusterOutbox } from '#api/platform/outbox/table.ts'
import { createSettle } from '#api/sync/push/settle.ts'
import { desiredSpec } from '#api/sync/rows/desired.ts'
import { isOutdated } from '#api/sync/rows/synced.ts'
import { aCluster } from '#test/support/cluster.ts'
import { concurrently } from '#test/support/concurrently.ts'
import { createFaultProxy } from '#test/support/faultProxy.ts'
import { createGate } from '#test/support/gate.ts'
import { type ApiProcess, aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import { inNewProject, type WorldBody } from '#test/support/rest.ts'
import { getServers } from '#test/support/servers.ts'
import { eventually } from '#test/support/wait.ts'

const cluster = aCluster()
const lobby = { name: 'Lobby', transient: false }
let databaseUrl: string
let apis: ApiProcess[]

beforeAll(async () => {
  databaseUrl = await aDatabase()
  // The first replica runs the migrations alone, so that the test covers only the sync of two replicas.
  apis = [await startApi({ databaseUrl }), await startApi({ databaseUrl })]
})
afterAll(async () => {
  await Promise.all(apis?.map((api) => api.stop()) ?? [])
})

test('worlds started concurrently over two replicas all get the pod of their run', async () => {
  const operator = await startOperator()
  const scopes = await Promise.all(apis.map(({ url }) => inNewProject(url)))
  const started = await concurrently(60, async (at) => {
    const rest = scopes[at % scopes.length]
    if (rest === undefined) throw new Error('no scope')
    const { body } = await rest.call<{ worldId: string }>('POST', '/api/worlds/', lobby)
    await rest.call('POST', `/api/worlds/${body.worldId}/start/`)
    return { rest, id: body.worldId, namespace: `orrery-${rest.scope.organizationId}` }
  })
  for (const { rest, id, namespace } of started) {
    const pod = await cluster.pod(namespace, id).exists()
    const { status } = (await rest.call<WorldBody>('GET', `/api/worlds/${id}/`)).body
    expect(pod.metadata.labels?.['orrery.dev/run']).toBe(status.runId)
  }
  await operator.stop()
})

test('a late response to an apply does not undo what pull has read', async () => {
  const gate = await createGate(getServers().apiKubeconfig)
  const url = await aDatabase()
  const away = await startApi({ databaseUrl: url, kubeconfig: gate.kubeconfig })
  gate.close()
  const rest = await inNewProject(away.url)
  const { body } = await rest.call<{ worldId: string }>('POST', '/api/worlds/', lobby)
  await away.stop()
  await gate.remove()

  const { db, close } = openDatabase({ url, poolSize: 2 })
  const read = async () => (await db.select().from(worlds).where(eq(worlds.id, body.worldId)))[0]
  const row = await read()
  if (row === undefined) throw new Error('no row')
  const spec = desiredSpec(row)
  const [mark] = await db.select().from(clusterOutbox).where(eq(clusterOutbox.id, row.id))
  if (mark === undefined) throw new Error('no mark')
  const settle = createSettle(db)
  const record = (metadata: { uid: string; resourceVersion: string }) => settle(mark, { row, spec, metadata })
  await record({ uid: 'u', resourceVersion: '1000' })
  await record({ uid: 'u', resourceVersion: '999' })
  const later = await read()
  expect(later?.appliedResourceVersion).toBe('1000')
  expect(later && isOutdated(later, { uid: 'u', resourceVersion: '999' })).toBe(true)
  await record({ uid: 'another', resourceVersion: '5' })
  expect(await read()).toMatchObject({ resourceUid: 'another', appliedResourceVersion: '5' })
  await close()
})

test('keeps a start after a stop, even if the watch shows the stop before its push returns', async () => {
  const proxy = await createFaultProxy({ kubeconfig: getServers().apiKubeconfig })
  const url = await aDatabase()
  const api = await startApi({ databaseUrl: url, kubeconfig: proxy.kubeconfig })
  const { db, close } = openDatabase({ url, poolSize: 2 })
  const rest = await inNewProject(api.url)
  const namespace = `orrery-${rest.scope.organizationId}`
  const id = (await rest.call<{ worldId: string }>('POST', '/api/worlds/', lobby)).body.worldId
  const live = () => cluster.worlds.get({ namespace, name: id })
  const row = async () => (await db.select().from(worlds).where(eq(worlds.id, id)))[0]
  await rest.call('POST', `/api/worlds/${id}/start/`)
  await eventually('the start is recorded', async () => (await row())?.applied?.state === 'Running')

  const release = proxy.holdAnswers()
  await rest.call('POST', `/api/worlds/${id}/stop/`)
  await eventually('the stop is in the cluster', async () => (await live()).spec.state === 'Stopped')
  await rest.call('POST', `/api/worlds/${id}/start/`)
  cluster.kubectl('-n', namespace, 'annotate', 'world', id, 'example.com/touched=true')
  const { resourceVersion } = (await live()).metadata
  await eventually('pull has looked', async () => (await row())?.appliedResourceVersion === resourceVersion)
  release()

  await eventually('the start is in the cluster', async () => (await live()).spec.state === 'Running')
  expect((await rest.call<WorldBody>('GET', `/api/worlds/${id}/`)).body.status.phase).toBe('Starting')
  await close()
  await api.stop()
  await proxy.remove()
})

test('a status that Postgres refuses to record is read again until it is recorded', async () => {
  const operator = await startOperator()
  const { db, close } = openDatabase({ url: databaseUrl, poolSize: 1 })
  await db.execute(sql`create sequence refusals`)
  // A sequence also counts in transactions that are rolled back.
  await db.execute(sql`create function refuse() returns trigger language plpgsql security definer as $$
    begin perform nextval('refusals'); raise exception 'refused'; end $$`)
  await db.execute(sql`create trigger refused before update on worlds for each row
    when (new.phase = 'Active') execute function refuse()`)
  const rest = await inNewProject(apis[0]?.url ?? '')
  const id = (await rest.call<{ worldId: string }>('POST', '/api/worlds/', lobby)).body.worldId
  await rest.call('POST', `/api/worlds/${id}/start/`)
  const pod = cluster.pod(`orrery-${rest.scope.organizationId}`, id)
  await pod.exists()
  await pod.becomesReady()
  await eventually('two attempts', async () => {
    const { rows } = await db.execute<{ last: number }>(sql`select last_value::int as last from refusals`)
    return (rows[0]?.last ?? 0) >= 2
  })
  await db.execute(sql`drop trigger refused on worlds`)
  await eventually('Active', async () => {
    const { status } = (await rest.call<WorldBody>('GET', `/api/worlds/${id}/`)).body
    return status.phase === 'Active'
  })
  await close()
  await operator.stop()
})

test('the other replica takes over pull from one that dies, without a gap', async () => {
  const operator = await startOperator()
  const [leader, other] = apis
  if (leader === undefined || other === undefined) throw new Error('two replicas are needed')
  const rest = await inNewProject(other.url)
  const { body } = await rest.call<{ worldId: string }>('POST', '/api/worlds/', lobby)
  leader.signal('SIGKILL')
  await leader.exited
  await rest.call('POST', `/api/worlds/${body.worldId}/start/`)
  const pod = cluster.pod(`orrery-${rest.scope.organizationId}`, body.worldId)
  await pod.exists()
  await pod.becomesReady()
  await eventually('Active', async () => {
    const world = await rest.call<WorldBody>('GET', `/api/worlds/${body.worldId}/`)
    return world.body.status.phase === 'Active'
  })
  await operator.stop()
})

test('REST writes to a paused world wait until the pause ends, without delaying others', async () => {
  const operator = await startOperator()
  const rest = await inNewProject(apis[1]?.url ?? '')
  const namespace = `orrery-${rest.scope.organizationId}`
  const make = async () => (await rest.call<{ worldId: string }>('POST', '/api/worlds/', lobby)).body.worldId
  const [edited, deleted, other] = [await make(), await make(), await make()]
  const nameOf = async (id: string) => (await cluster.worlds.get({ namespace, name: id })).spec.displayName
  for (const id of [edited, deleted, other]) await cluster.world(namespace, id).exists()
  cluster.kubectl('-n', namespace, 'annotate', 'world', edited, deleted, 'orrery.dev/paused=true')
  await eventually('REST tells', async () => {
    const { status } = (await rest.call<WorldBody>('GET', `/api/worlds/${edited}/`)).body
    return status.message.startsWith('Paused')
  })
  await rest.call('PATCH', `/api/worlds/${edited}/`, { name: 'Foyer' })
  await rest.call('DELETE', `/api/worlds/${deleted}/`)
  await rest.call('PATCH', `/api/worlds/${other}/`, { name: 'Foyer' })
  // Pushes happen in the order of the requests.
  await eventually('the other edit', async () => (await nameOf(other)) === 'Foyer')
  expect(await nameOf(edited)).toBe('Lobby')
  expect((await cluster.worlds.get({ namespace, name: deleted })).metadata.deletionTimestamp).toBeUndefined()
  cluster.kubectl('-n', namespace, 'annotate', 'world', edited, deleted, 'orrery.dev/paused-')
  await eventually('the edit', async () => (await nameOf(edited)) === 'Foyer')
  await cluster.world(namespace, deleted).isGone()
  await operator.stop()
})
