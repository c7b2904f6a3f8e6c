import { afterAll, beforeAll, expect, test } from 'vitest'
import { eraseDeletedDocuments } from '#api/domain/documents/cleanup.ts'
import { openDatabase } from '#api/platform/database/client.ts'
import { inSession } from '#dev/postgres.ts'
import { systemClock } from '#shared/clock.ts'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import { openSocket } from '#test/support/socket.ts'
import { aTenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

let api: ApiProcess
let databaseUrl: string
beforeAll(async () => {
  databaseUrl = await aDatabase()
  api = await startApi({ databaseUrl })
})
afterAll(() => api?.stop())

const hourMs = 3_600_000

/**
 * Creates a project with a world, a document in each of the three scopes, and a client that subscribes to all of them.
 */
const aFollowedProject = async () => {
  const { rest, scope, world } = await aTenant(api.url)
  const worldId = await world()
  const ids = { world: `World:${worldId}`, project: 'Project:settings', organization: 'Organization:settings' }
  const pathOf = (id: string): string => `/api/documents/liveConfig/${id}/`
  const put = (id: string, n: number) => rest.call('PUT', pathOf(id), { data: { id: 'l', config: { n } } })
  const client = await openSocket(api.url, { ...scope, worldId: '' })
  for (const id of Object.values(ids)) {
    await put(id, 1)
    client.subscribe('liveConfig', id)
    await client.hears('the document', ({ resource, data }) => resource?.id === id && data !== undefined)
  }
  return {
    rest,
    scope,
    worldId,
    ids,
    client,
    put,
    pathOf,
    hearsOfEnd: (id: string) =>
      client.hears('the deletion', ({ resource, data }) => resource?.id === id && JSON.stringify(data) === '{}'),
    /** Returns the updates of each document: the number in it, or `gone` for a deletion. */
    heard: () =>
      Object.values(ids).map((id) =>
        client.updatesOf(id).map(({ data }) => (data?.config as { n: number } | undefined)?.n ?? 'gone'),
      ),
    rows: async () =>
      (
        await inSession(databaseUrl, (sql) =>
          sql.query<{ alive: number; all: number }>(
            `select count(*)::int as all, (count(*) filter (where deleted_at is null))::int as alive
              from documents where organization_id = $1`,
            [scope.organizationId],
          ),
        )
      ).rows[0],
  }
}

/** Deletes old tombstones as the API does every minute, as if that many hours had passed. */
const cleanUp = async (hours: number): Promise<void> => {
  const { db, close } = openDatabase({ url: databaseUrl, poolSize: 2 })
  const clock = { ...systemClock, now: () => Date.now() + hours * hourMs }
  await eraseDeletedDocuments({ db, clock }, new AbortController().signal)
  await close()
}

test('reports the deletion of a world once to each subscriber of its documents', async () => {
  const { rest, worldId, ids, put, pathOf, hearsOfEnd, heard, rows, client } = await aFollowedProject()
  await rest.call('DELETE', `/api/worlds/${worldId}/`)
  await hearsOfEnd(ids.world)
  expect((await put(ids.world, 2)).status).toBe(404)
  expect((await rest.call('GET', pathOf(ids.world))).status).toBe(404)
  await cleanUp(0)
  await put(ids.project, 2)
  await client.hears('what came after', () => heard()[1]?.length === 2)
  expect(heard()).toEqual([[1, 'gone'], [1, 2], [1]])
  const versions = client.updatesOf(ids.world).map(({ version = '' }) => version)
  expect(versions).toEqual([...new Set(versions)].sort())
  expect(await rows()).toEqual({ all: 3, alive: 2 })
  await cleanUp(2)
  expect(await rows()).toEqual({ all: 2, alive: 2 })
})

test('reports the deletion of a project once for each document in it', async () => {
  const { rest, ids, put, hearsOfEnd, heard, rows, client } = await aFollowedProject()
  await rest.call('DELETE', '/api/organizations/projects/current/')
  await Promise.all([hearsOfEnd(ids.world), hearsOfEnd(ids.project)])
  await cleanUp(0)
  await put(ids.organization, 2)
  await client.hears('what came after', () => heard()[2]?.length === 2)
  expect(heard()).toEqual([
    [1, 'gone'],
    [1, 'gone'],
    [1, 2],
  ])
  await cleanUp(2)
  expect(await rows()).toEqual({ all: 1, alive: 1 })
})

test('kubectl delete of a world deletes its documents', async () => {
  const { scope, worldId, ids, hearsOfEnd } = await aFollowedProject()
  const { kubectl } = aCluster()
  const namespace = `orrery-${scope.organizationId}`
  await eventually('the resource', async () => kubectl('get', 'worlds', worldId, '-n', namespace) !== '')
  kubectl('delete', 'worlds', worldId, '-n', namespace, '--wait=false')
  await hearsOfEnd(ids.world)
})

test('deletes very many documents, and keeps other tombstones for a day', async () => {
  const { rest, scope, rows, ids, pathOf } = await aFollowedProject()
  await rest.call('DELETE', pathOf(ids.organization))
  await inSession(databaseUrl, (sql) =>
    sql.query(
      `insert into documents (organization_id, project_id, world_id, type, id, user_id, data, version)
        select $1, $2, '', 'liveConfig', 'many-' || n, '', '{"id":"l","config":{}}', now() from generate_series(1, 2500) n`,
      [scope.organizationId, scope.projectId],
    ),
  )
  expect((await rest.call('DELETE', '/api/organizations/projects/current/')).status).toBe(200)
  expect((await rows())?.alive).toBeLessThanOrEqual(1502)
  await cleanUp(0)
  expect(await rows()).toEqual({ all: 2503, alive: 0 })
  await cleanUp(2)
  expect(await rows()).toEqual({ all: 1, alive: 0 })
  await cleanUp(25)
  expect(await rows()).toEqual({ all: 0, alive: 0 })
})

test('writes no document into a scope that is being deleted concurrently', async () => {
  const { rest, worldId, ids, rows } = await aFollowedProject()
  const world = { 'x-svc-world-id': worldId }
  const write = (at: number) =>
    rest.call('PUT', `/api/documents/liveConfig/new-${at}/`, { data: { id: 'l', config: {} } }, world)
  let written = 0
  const writers = Array.from({ length: 8 }, async (_, writer) => {
    for (let at = 0; at < 200; at += 1) {
      if ((await write(writer * 200 + at)).status === 404) return
      written += 1
    }
  })
  await eventually('some documents', async () => written > 20)
  await rest.call('DELETE', `/api/worlds/${worldId}/`)
  await Promise.all(writers)
  expect(await rows()).toEqual({ all: written + Object.keys(ids).length, alive: 2 })
})
