import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { and, eq, isNull, sql } from 'drizzle-orm'
import { Hono } from 'hono'
import postgres from 'postgres'
import { openDatabase } from '#api/db/client.ts'
import { launchContexts, worlds } from '#api/db/schema.ts'
import { systemClock } from '#shared/clock.ts'
import { createIdSource } from '#shared/ids.ts'
import { listen } from '#shared/operations.ts'

// The baseline of `npm run bench`: the same queries behind bare Hono routes. No credential, no permission, no
// validation, no log line, no metrics; what the API costs beyond this is what it adds.
const { BENCH_PORT, BENCH_DATABASE_URL = '', BENCH_ORGANIZATION = '', BENCH_PROJECT = '' } = process.env
const { db } = openDatabase({ url: BENCH_DATABASE_URL, poolSize: 16 })
const raw = postgres(BENCH_DATABASE_URL, { max: 16, onnotice: () => undefined })
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

const template = raw`select * from worlds where organization_id = ${BENCH_ORGANIZATION} order by id limit 1`
const [model] = await template
const [context] = await raw`select * from launch_contexts where world_id = ${String(model?.id)}`

const app = new Hono()
app.get('/world/:id', async (c) => c.json((await world.execute({ ...scope, worldId: c.req.param('id') }))[0]))
app.get('/list', async (c) => c.json(await list.execute(scope)))
app.post('/world', async (c) => {
  await c.req.json()
  const id = newId('world')
  const launchContextId = newId('launchContext')
  await raw.begin(async (tx) => {
    await tx`select id from projects where organization_id = ${BENCH_ORGANIZATION} and id = ${BENCH_PROJECT} and deleting_at is null for share`
    await tx`select limits from organizations where id = ${BENCH_ORGANIZATION} for no key update`
    await tx`select count(*) from worlds where organization_id = ${BENCH_ORGANIZATION} and deleting_at is null`
    await tx`insert into worlds ${tx({ ...model, id })}`
    await tx`insert into launch_contexts ${tx({ ...context, id: launchContextId, world_id: id })}`
    await tx`insert into cluster_outbox (kind, id, revision, next_at) values ('world', ${id}, 1, now())`
  })
  return c.json({ worldId: id, launchContextId })
})

const listener = getRequestListener(app.fetch)
const server = createServer((request, response) => void listener(request, response))
await listen(server, Number(BENCH_PORT))
process.once('SIGTERM', () => process.exit(0))
