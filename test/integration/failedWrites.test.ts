import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDatabase } from '#api/platform/database/client.ts'
import { openSession } from '#api/platform/database/pool.ts'
import { dumpRows } from '#test/support/dump.ts'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import { inNewProject } from '#test/support/rest.ts'
import { eventually } from '#test/support/wait.ts'

let databaseUrl: string
let database: ReturnType<typeof openDatabase>
let api: ApiProcess
beforeAll(async () => {
  databaseUrl = await aDatabase()
  api = await startApi({ databaseUrl })
  database = openDatabase({ url: databaseUrl, poolSize: 1 })
  // The error of a deadlock, after which a client may repeat its request.
  await database.db.execute(sql`create function refuse() returns trigger language plpgsql as $$
    begin raise exception 'refused' using errcode = '40P01'; end $$`)
})
afterAll(async () => {
  await database?.close()
  await api?.stop()
})

const lobby = { name: 'Lobby', transient: false }
const start = { what: 'start', verb: 'POST', path: 'start/', body: undefined } as const
const stop = { what: 'stop', verb: 'POST', path: 'stop/', body: undefined } as const
const patch = { what: 'change', verb: 'PATCH', path: '', body: { name: 'Hall' } } as const

test.each([
  { ...start, table: 'worlds' },
  { ...start, table: 'cluster_outbox' },
  { ...start, table: 'deployments' },
  { ...start, table: 'world_events' },
  { ...start, table: 'audit_records' },
  { ...stop, table: 'worlds' },
  { ...stop, table: 'audit_records' },
  { ...patch, table: 'worlds' },
  { ...patch, table: 'cluster_outbox' },
])(
  'a $what that Postgres refuses to write to $table changes nothing, and may be repeated',
  async ({ verb, path, body, table }) => {
    const rest = await inNewProject(api.url)
    const { body: created } = await rest.call<{ worldId: string }>('POST', '/api/worlds/', lobby)
    const change = () => rest.call<{ code?: string }>(verb, `/api/worlds/${created.worldId}/${path}`, body)
    const settled = () =>
      eventually('no push is pending', async () => {
        const { rows, waiting } = await dumpRows(databaseUrl)
        return !waiting && rows
      })
    const before = await settled()
    await database.db.execute(
      sql.raw(`create trigger refused before insert or update on ${table} for each row execute function refuse()`),
    )
    const refused = await change()
    await database.db.execute(sql.raw(`drop trigger refused on ${table}`))
    expect(refused).toMatchObject({ status: 503, body: { code: 'unavailable' } })
    expect(await settled()).toEqual(before)
    expect((await change()).status).toBe(200)
  },
)

const ofOrganizations = 'select from organizations for update'

test.each([
  { what: 'creation of a world', lock: ofOrganizations, verb: 'POST', pathOf: () => '/api/worlds/', body: lobby },
  {
    what: 'start of a world',
    lock: ofOrganizations,
    verb: 'POST',
    pathOf: (worldId: string) => `/api/worlds/${worldId}/start/`,
    body: undefined,
  },
  {
    what: 'write of a document',
    lock: 'lock table documents',
    verb: 'PUT',
    pathOf: () => '/api/documents/liveConfig/settings/',
    body: { data: { id: 'settings', config: {} } },
  },
] as const)('a $what of which Postgres cancels one statement may be repeated', async ({ lock, verb, pathOf, body }) => {
  const rest = await inNewProject(api.url)
  const { body: world } = await rest.call<{ worldId: string }>('POST', '/api/worlds/', lobby)
  const change = () => rest.call<{ code?: string }>(verb, pathOf(world.worldId), body)
  const holder = await openSession({ connectionString: databaseUrl })
  await holder.client.query('begin')
  await holder.client.query(lock)
  const waiting = sql`from pg_stat_activity
    where datname = current_database() and application_name = 'orrery-api' and wait_event_type = 'Lock'`
  const wait = (queries: number) =>
    eventually(`${queries} queries wait`, async () => {
      const { rows } = await database.db.execute(sql`select ${waiting}`)
      return rows.length >= queries
    })
  /** Cancels the query that waits since last, until the request has its response. */
  const cancel = async (request: ReturnType<typeof change>) => {
    let isAnswered = false
    void request.finally(() => {
      isAnswered = true
    })
    await eventually('the response', async () => {
      await database.db.execute(sql`select pg_cancel_backend(pid) ${waiting} order by query_start desc limit 1`)
      return isAnswered
    })
    return request
  }
  // The first one holds what the second one waits for, so that these wait at different statements.
  const first = change()
  await wait(1)
  const second = change()
  await wait(2)
  const answers = [await cancel(second), await cancel(first)]
  await holder.close()
  const unavailable = { status: 503, body: { code: 'unavailable' } }
  expect(answers).toMatchObject([unavailable, unavailable])
  expect((await change()).status).toBe(200)
})

test('the errors of the queries behind a failed one of their transaction have its error as their cause', async () => {
  const { db, close } = openDatabase({ url: databaseUrl, poolSize: 1 })
  const run = async (failing: string) => {
    let queries: Promise<unknown>[] = []
    const rolledBack = db.transaction(async (tx) => {
      queries = [failing, 'select 1', 'select 2'].map((text) => tx.execute(sql.raw(text)).execute())
      await Promise.allSettled(queries)
      throw new Error('rolled back')
    })
    await expect(rolledBack).rejects.toThrow('rolled back')
    const settled = await Promise.allSettled(queries)
    return settled.map((each) => each.status === 'rejected' && codesOf(each.reason))
  }
  expect(await run('select 1 / 0')).toEqual([['22012'], ['25P02', '22012'], ['25P02', '22012']])
  // On the same connection.
  expect(await run('select absent')).toEqual([['42703'], ['25P02', '42703'], ['25P02', '42703']])
  await close()
})

/** Returns the codes of an error of Postgres and of its causes. */
const codesOf = (error: unknown): string[] =>
  error instanceof Error ? [...('code' in error ? [String(error.code)] : []), ...codesOf(error.cause)] : []
