import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { and, eq, isNull, sql } from 'drizzle-orm'
import { Hono } from 'hono'
import { launchContexts, worlds } from '#api/domain/worlds/table.ts'
import { openDatabase } from '#api/platform/database/client.ts'
import { openPool } from '#api/platform/database/pool.ts'
import { systemClock } from '#shared/clock.ts'
import { createIdSource } from '#shared/ids.ts'
import { listen } from '#shared/operations.ts'

// The baseline of `npm run bench:rest`: the same queries behind bare Hono routes, without credentials, permissions,
// validation, log lines and metrics. The difference to the API is the cost of these.
const { BENCH_PORT, BENCH_DATABASE_URL = '', BENCH_ORGANIZATION = '', BENCH_PROJECT = '' } = process.env
const { db } = openDatabase({ url: BENCH_DATABASE_URL, poolSize: 16 })
const raw = openPool({ connectionString: BENCH_DATABASE_URL, max: 16, silenceMs: 60_000 })
const newId = createIdSource({ now: systemClock.now })
const scope = { organizationId: BENCH_ORGANIZATION, projectId: BENCH_PROJECT }

const inScope = and(
  eq(worlds.organizationId, sql.placeholder('organizationId')),
  eq(worlds.projectId, sql.placeholder('projectId')),
  isNull(worlds.deletingAt),
)
const world = db
  .select()
  .from(worlds)
  .innerJoin(launchContexts, eq(launchContexts.worldId, worlds.id))
  .where(and(inScope, eq(worlds.id, sql.placeholder('worldId'))))
  .prepare('bare_world')
const list = db
  .select()
  .from(worlds)
  .innerJoin(launchContexts, eq(launchContexts.worldId, worlds.id))
  .where(inScope)
  .limit(1_000)
  .prepare('bare_list')

const first = async (text: string, id: string): Promise<Record<string, unknown>> =>
  (await raw.query(text, [id])).rows[0]
const model = await first('select * from worlds where organization_id = $1 order by id limit 1', BENCH_ORGANIZATION)
const context = await first('select * from launch_contexts where world_id = $1', String(model.id))

/** A prepared insert that copies a row, with some values replaced. */
const insertInto = (table: string, like: Record<string, unknown>) => {
  const columns = Object.keys(like)
  const places = columns.map((_, at) => `$${at + 1}`)
  const text = `insert into ${table} (${columns.map((column) => `"${column}"`)}) values (${places})`
  return (row: Record<string, unknown>) => ({ name: table, text, values: Object.values({ ...like, ...row }) })
}
const insertWorld = insertInto('worlds', model)
const insertContext = insertInto('launch_contexts', context)

const project = {
  name: 'project',
  text: 'select id from projects where organization_id = $1 and id = $2 and deleting_at is null for share',
  values: [BENCH_ORGANIZATION, BENCH_PROJECT],
}
const organization = {
  name: 'organization',
  text: 'select limits from organizations where id = $1 for no key update',
  values: [BENCH_ORGANIZATION],
}
const count = {
  name: 'count',
  text: 'select count(*) from worlds where organization_id = $1 and deleting_at is null',
  values: [BENCH_ORGANIZATION],
}
const mark = {
  name: 'mark',
  text: `insert into cluster_outbox (kind, id, revision, next_at) values ('world', $1, 1, now())`,
}

const putDocument = {
  name: 'document',
  text: `insert into documents (organization_id, project_id, world_id, type, id, user_id, data, version)
    values ($1, $2, '', 'liveConfig', $3, '', $4, now())
    on conflict (organization_id, project_id, world_id, type, id) do update set data = excluded.data, version = now()
    returning *`,
}

const app = new Hono()
app.get('/world/:id', async (c) => c.json((await world.execute({ ...scope, worldId: c.req.param('id') }))[0]))
app.get('/list', async (c) => c.json(await list.execute(scope)))
app.post('/world', async (c) => {
  await c.req.json()
  const id = newId('world')
  const launchContextId = newId('launchContext')
  const tx = await raw.connect()
  await tx.query('begin')
  await tx.query(project)
  await tx.query(organization)
  await tx.query(count)
  await tx.query(insertWorld({ id }))
  await tx.query(insertContext({ id: launchContextId, world_id: id }))
  await tx.query({ ...mark, values: [id] })
  await tx.query('commit')
  tx.release()
  return c.json({ worldId: id, launchContextId })
})

app.put('/document/:id', async (c) => {
  const { data } = await c.req.json()
  const tx = await raw.connect()
  await tx.query('begin')
  const values = [BENCH_ORGANIZATION, BENCH_PROJECT, c.req.param('id'), data]
  const { rows } = await tx.query({ ...putDocument, values })
  await tx.query('commit')
  tx.release()
  return c.json(rows[0])
})

const listener = getRequestListener(app.fetch)
const server = createServer((request, response) => void listener(request, response))
await listen(server, Number(BENCH_PORT))
process.once('SIGTERM', () => process.exit(0))
