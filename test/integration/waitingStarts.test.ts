import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { organizations } from '#api/domain/organizations/table.ts'
import { deployments, worlds } from '#api/domain/worlds/table.ts'
import { openDatabase } from '#api/platform/database/client.ts'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import { aTenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

// No operator runs: the rows hold what waits, and the API alone begins it.
const cluster = aCluster()
const settings = { ORRERY_LIMIT_STARTS_PER_MINUTE: '1' }
let databaseUrl: string
let api: ApiProcess
let database: ReturnType<typeof openDatabase>
beforeAll(async () => {
  databaseUrl = await aDatabase()
  api = await startApi({ databaseUrl, settings })
  database = openDatabase({ url: databaseUrl, poolSize: 2 })
})
afterAll(async () => {
  await api?.stop()
  await database?.close()
  await cluster.close()
})

/** Kills the API, changes the database, and starts another API, which then leads. */
const replaceApi = async (change: () => Promise<unknown>): Promise<void> => {
  const port = Number(new URL(api.url).port)
  api.signal('SIGKILL')
  await api.exited
  await change()
  api = await startApi({ databaseUrl, port, settings })
}

const readRow = async (id: string) => {
  const [row] = await database.db.select().from(worlds).where(eq(worlds.id, id))
  if (row === undefined) throw new Error(`World ${id} has no row.`)
  return row
}
const waits = (id: string) => eventually(`${id} waits`, async () => (await readRow(id)).waitsSince !== null)
const runOf = (id: string) =>
  eventually(`${id} begins`, async () => {
    const { runId, waitsSince } = await readRow(id)
    return waitsSince === null && (runId ?? false)
  })

const aWorld = async (tenant: Awaited<ReturnType<typeof aTenant>>) => {
  const id = await tenant.world()
  const namespace = `orrery-${tenant.scope.organizationId}`
  await cluster.world(namespace, id).exists()
  const set = (state: 'Running' | 'Stopped') => cluster.worlds.patch({ namespace, name: id }, { spec: { state } })
  const isPushed = (runId: string) =>
    eventually(`the push of ${runId}`, async () => {
      const { spec } = await cluster.worlds.get({ namespace, name: id })
      return spec.granted?.id === runId
    })
  return { id, set, isPushed, start: () => tenant.rest.call('POST', `/api/worlds/${id}/start/`) }
}

/** Creates an organization with worlds whose starts with kubectl wait for room, the first for the longest time. */
const anOrganizationThatWaits = async (count: number) => {
  const tenant = await aTenant(api.url)
  const { organizationId } = tenant.scope
  const limits = { maxRunningCapacity: 1 }
  await tenant.rest.call<object>('PATCH', `/api/organizations/${organizationId}/limits/`, limits)
  const ids: string[] = []
  for (let at = 0; at < count; at += 1) {
    const { id, set } = await aWorld(tenant)
    await set('Running')
    await waits(id)
    ids.push(id)
  }
  return { ids, organizationId }
}

const giveRoom = () => database.db.update(organizations).set({ limits: { maxRunningCapacity: 10_000 } })

test('after the death of the API another one begins the starts that wait: organizations take turns, the oldest of each first', async () => {
  const [many, few] = [await anOrganizationThatWaits(3), await anOrganizationThatWaits(2)]
  await replaceApi(giveRoom)
  const runs = new Map<string, string>()
  for (const id of [...many.ids, ...few.ids]) runs.set(await runOf(id), id)
  const [first, second, third] = many.ids
  const [other, last] = few.ids
  // The ids of runs sort by their time.
  expect([...runs.keys()].sort().map((run) => runs.get(run))).toEqual([first, other, second, last, third])
})

test('a waiting start that fails delays no other one, and begins when nothing fails', async () => {
  const [broken, healthy] = [await anOrganizationThatWaits(2), await anOrganizationThatWaits(1)]
  const [failing = '', next = ''] = broken.ids
  await replaceApi(async () => {
    await database.db.execute(sql`
      create function refuse() returns trigger language plpgsql as $$ begin raise 'refused by the test'; end $$`)
    await database.db.execute(sql`
      create trigger refuse before update on ${worlds} for each row
      when (new.id = ${sql.raw(`'${failing}'`)} and new.run_id is distinct from old.run_id) execute function refuse()`)
    await giveRoom()
  })
  for (const id of [next, ...healthy.ids]) await runOf(id)
  expect(await readRow(failing)).toMatchObject({ runId: null, waitsSince: expect.any(Date) })
  await database.db.execute(sql`drop trigger refuse on ${worlds}`)
  await runOf(failing)
})

test('a waiting start in a row that is older than its resource, as after a restore of the database, does not begin', async () => {
  const tenant = await aTenant(api.url)
  const [old, other] = [await aWorld(tenant), await aWorld(tenant)]
  await old.start()
  const { runId } = await readRow(old.id)
  await old.isPushed(runId ?? '')
  const waiting = { state: 'Running' as const, waitsSince: new Date(), waitsFor: 'Room.', runId: null }
  await database.db
    .update(worlds)
    .set({ ...waiting, revision: 1, runRevision: 0 })
    .where(eq(worlds.id, old.id))
  await database.db.update(worlds).set(waiting).where(eq(worlds.id, other.id))
  await runOf(other.id)
  expect(await readRow(old.id)).toMatchObject({ revision: 1, runId: null, waitsFor: 'Room.' })
})

test('a start that waits for its rate begins at its time, although the API that refused it died', async () => {
  const { id, set, isPushed, start } = await aWorld(await aTenant(api.url))
  expect((await start()).status).toBe(200)
  const first = await runOf(id)
  await isPushed(first)
  await set('Stopped')
  await eventually('the stop', async () => (await readRow(id)).state === 'Stopped')
  await set('Running')
  await waits(id)
  const { waitsUntil } = await readRow(id)
  expect(waitsUntil?.getTime()).toBeGreaterThan(Date.now())
  await replaceApi(async () => {
    // As if a minute had passed.
    const createdAt = sql`${deployments.createdAt} - interval '1 minute'`
    await database.db.update(deployments).set({ createdAt }).where(eq(deployments.worldId, id))
    await database.db.update(worlds).set({ waitsUntil: new Date() }).where(eq(worlds.id, id))
  })
  expect(await runOf(id)).not.toBe(first)
})
