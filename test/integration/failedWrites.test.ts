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
    const { body: created } = await rest.call<{ worldId: string }>('POST', '/api/worlds/', {
      name: 'Lobby',
      transient: false,
    })
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

test.each([
  { what: 'creation of a world', lock: 'select from organizations for update', verb: 'POST', path: '', body: lobby },
  {
    what: 'start of a world',
    lock: 'select from organizations for update',
    verb: 'POST',
    path: 'start/',
    body: undefined,
  },
  {
    what: 'write of a document',
    lock: 'lock table documents',
    verb: 'PUT',
    path: undefined,
    body: { data: { id: 'settings', config: {} } },
  },
] as const)('a $what of which Postgres cancels one statement may be repeated', async ({ lock, verb, path, body }) => {
  const rest = await inNewProject(api.url)
  const { body: world } = await rest.call<{ worldId: string }>('POST', '/api/worlds/', lobby)
  const paths = { '': '/api/worlds/', 'start/': `/api/worlds/${world.worldId}/start/` } as const
  const target = path === undefined ? '/api/documents/liveConfig/settings/' : paths[path]
  const change = () => rest.call<{ code?: string }>(verb, target, body)
  const holder = await openSession({ connectionString: databaseUrl })
  await holder.client.query('begin')
  await holder.client.query(lock)
  const waiting = async () => {
    const { rows } = await database.db.execute<{ pid: number }>(sql`select pid from pg_stat_activity
      where datname = current_database() and application_name = 'orrery-api' and wait_event_type = 'Lock'`)
    return rows
  }
  // The first one holds what the second one waits for, so that these wait at different statements.
  const refused = [change()]
  await eventually('one waits', async () => (await waiting()).length > 0)
  refused.push(change())
  await eventually('both wait', async () => (await waiting()).length > 1)
  for (const { pid } of (await waiting()).toReversed()) await database.db.execute(sql`select pg_cancel_backend(${pid})`)
  for (const each of await Promise.all(refused))
    expect(each).toMatchObject({ status: 503, body: { code: 'unavailable' } })
  await holder.close()
  expect((await change()).status).toBe(200)
})
