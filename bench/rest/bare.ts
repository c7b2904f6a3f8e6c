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
const raw = openPool({ connectionString: BENCH_DATABASE_URL, max: 16, pipeline: true, silenceMs: 60_000 })
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
const ofWorld = (table: string): Promise<Record<string, unknown>> =>
  first(`select * from ${table} where world_id = $1`, String(model.id))
const model = await first('select * from worlds where organization_id = $1 order by id limit 1', BENCH_ORGANIZATION)
const context = await ofWorld('launch_contexts')

/** A prepared insert that copies a row, with some values replaced. */
const insertInto = (table: string, like: Record<string, unknown>) => {
  const columns = Object.keys(like)
  const places = columns.map((_, at) => `$${at + 1}`)
  const text = `insert into ${table} (${columns.map((column) => `"${column}"`)}) values (${places})`
  return (row: Record<string, unknown>) => ({ name: table, text, values: Object.values({ ...like, ...row }) })
}
const insertWorld = insertInto('worlds', model)
const insertContext = insertInto('launch_contexts', context)
// The model has been started.
const insertDeployment = insertInto('deployments', await ofWorld('deployments'))
const insertEvent = insertInto('world_events', await ofWorld('world_events'))
const insertRecord = insertInto(
  'audit_records',
  await first(`select * from audit_records where action = 'startWorld' and organization_id = $1`, BENCH_ORGANIZATION),
)

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

const lockedWorld = {
  name: 'locked_world',
  text: 'select * from worlds where organization_id = $1 and project_id = $2 and id = $3 and deleting_at is null for update',
}
const running = {
  name: 'running',
  text: `select sum(capacity) from deployments
    where organization_id = $1 and status not in ('Stopped', 'Error') and world_id <> $2`,
}
const startedWorld = {
  name: 'started_world',
  text: `update worlds set state = 'Running', phase = 'Starting', run_id = $2, started_at = now(), revision = $3,
    run_revision = $3, updated_at = now() where id = $1`,
}
const startMark = {
  name: 'start_mark',
  text: `insert into cluster_outbox (kind, id, revision, next_at) values ('world', $1, $2, now() + interval '1 day')
    on conflict (kind, id) do update set revision = excluded.revision, epoch = cluster_outbox.epoch + 1`,
}
const endedRun = {
  name: 'ended_run',
  text: `update deployments set status = 'Stopped', ended_at = now() where world_id = $1 and status = 'Pending'`,
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

app.post('/world/:id/start', async (c) => {
  const id = c.req.param('id')
  const runId = newId('run')
  const tx = await raw.connect()
  const [, { rows }] = await Promise.all([
    tx.query('begin'),
    tx.query({ ...lockedWorld, values: [BENCH_ORGANIZATION, BENCH_PROJECT, id] }),
    tx.query(organization),
    tx.query({ ...running, values: [BENCH_ORGANIZATION, id] }),
  ])
  const revision = Number(rows[0].revision) + 1
  await Promise.all([
    tx.query({ ...startedWorld, values: [id, runId, revision] }),
    tx.query({ ...startMark, values: [id, revision] }),
    tx.query({ ...endedRun, values: [id] }),
    tx.query(insertDeployment({ id: newId('deployment'), world_id: id, run_id: runId })),
    tx.query(insertEvent({ id: newId('event'), world_id: id, run_id: runId })),
    tx.query(insertRecord({ id: newId('audit') })),
    tx.query('commit'),
  ])
  tx.release()
  return c.json({})
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
