import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDatabase } from '#api/platform/database/client.ts'
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
