import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Limits } from '#api/domain/access/limits.ts'
import { lockLimits } from '#api/domain/organizations/organizations.ts'
import { organizations } from '#api/domain/organizations/table.ts'
import { projects } from '#api/domain/projects/table.ts'
import { updateColumns } from '#api/domain/worlds/change.ts'
import { buildWorldRows } from '#api/domain/worlds/create.ts'
import { endUnseen, recordStart } from '#api/domain/worlds/runs/runs.ts'
import { createScheduler, type SchedulerDeps } from '#api/domain/worlds/scheduler.ts'
import { createWorldBody } from '#api/domain/worlds/schema.ts'
import { sumRunning } from '#api/domain/worlds/start.ts'
import { type DeploymentRow, deployments, type WorldRow, worlds } from '#api/domain/worlds/table.ts'
import { insertAuditRecord } from '#api/platform/audit/records.ts'
import { type AuditRow, auditRecords } from '#api/platform/audit/table.ts'
import { openDatabase, type Transaction } from '#api/platform/database/client.ts'
import { migrateDatabase } from '#api/platform/database/migrate.ts'
import { recordDeployments } from '#api/sync/reconcile/reportedRun.ts'
import { lockWorld } from '#api/sync/reconcile/world.ts'
import { inSession } from '#dev/postgres.ts'
import { defaultPorts } from '#shared/domain/ports.ts'
import { createIdSource, deploymentIdOfRun } from '#shared/ids.ts'
import { type World, type WorldDeploymentStatus, worldSpecSchema, worldStatusSchema } from '#shared/resources/world.ts'
import { aDatabase } from '#test/support/processes.ts'

const newId = createIdSource({ now: () => 0 })
const now = new Date('2026-11-27T06:00:00.123Z')
const later = new Date('2026-11-27T06:00:01.000Z')
const organizationId = newId('organization')
const projectId = newId('project')

let url: string
let database: ReturnType<typeof openDatabase>
beforeAll(async () => {
  url = await aDatabase()
  await migrateDatabase({ url })
  database = openDatabase({ url, poolSize: 2 })
  const features = {}
  const common = { createdAt: now, updatedAt: now }
  await database.db
    .insert(organizations)
    .values({ id: organizationId, name: 'Acme', tenantId: '', features, ...common })
  await database.db.insert(projects).values({ id: projectId, organizationId, name: 'Games', ...common })
})
afterAll(() => database?.close())
beforeEach(async () => {
  await database.db.delete(deployments)
})

const inTransaction = <T>(work: (tx: Transaction) => Promise<T>): Promise<T> => database.db.transaction(work)

const readWorld = async (id: string): Promise<WorldRow> => {
  const [row] = await database.db.select().from(worlds).where(eq(worlds.id, id))
  if (row === undefined) throw new Error(`No world ${id}.`)
  return row
}

const aWorld = async (changes: Partial<WorldRow> = {}): Promise<WorldRow> => {
  const input = createWorldBody.parse({ name: 'Lobby', transient: false })
  const { world } = buildWorldRows(input, { organizationId, projectId, cluster: 'default', newId, now })
  await database.db.insert(worlds).values({ ...world, ...changes })
  return readWorld(world.id)
}

const isLocked = async (id: string): Promise<boolean> =>
  (await database.db.execute(sql`select from worlds where id = ${id} for update skip locked`)).rows.length === 0

/** Starts a run of a world, and returns its deployment. */
const start = async (world: WorldRow, at = now): Promise<string> => {
  const runId = newId('run')
  await inTransaction((tx) => recordStart(tx, { ...world, runId }, at))
  return deploymentIdOfRun(runId)
}

const readDeployment = async (id: string): Promise<DeploymentRow | undefined> => {
  const [row] = await database.db.select().from(deployments).where(eq(deployments.id, id))
  return row
}

test('a locked world is the row as drizzle reads it, and other transactions cannot lock it', async () => {
  const values = { statusMessage: '"quoted"', revision: Number.MAX_SAFE_INTEGER, startedAt: later, description: '{}' }
  const world = await aWorld({
    ...values,
    conditions: [],
    refusal: { revision: 1, message: '"null"', generation: 1, putBackAtMs: [], isLeft: false },
  })
  await inTransaction(async (tx) => {
    expect(await lockWorld(tx, world.id)).toEqual(world)
    expect(await isLocked(world.id)).toBe(true)
  })
  expect(await isLocked(world.id)).toBe(false)
  expect(await inTransaction((tx) => lockWorld(tx, 'wld-none'))).toBeUndefined()
})

test('an update of a world changes exactly the given columns', async () => {
  const other = await aWorld()
  const before = await aWorld({
    refusal: { revision: 1, message: 'refused', generation: 1, putBackAtMs: [], isLeft: false },
    description: 'old',
  })
  const columns: Partial<WorldRow> = {
    refusal: null,
    phase: 'Active',
    startedAt: later,
    revision: 7,
    program: { args: ['a', '"'] },
  }
  await inTransaction((tx) => updateColumns(tx, before.id, columns))
  const after = await readWorld(before.id)
  expect(after).toEqual({ ...before, ...columns, followedVersion: after.followedVersion })
  expect(await readWorld(other.id)).toEqual(other)
})

test('locked limits are the defaults and what the platform has set', async () => {
  const defaultLimits = { maxWorlds: 5, maxApiKeys: 6 } as Limits
  await database.db.update(organizations).set({ limits: { maxWorlds: 9 } })
  const ctx = { organizationId, defaultLimits }
  expect(await inTransaction((tx) => lockLimits(ctx, tx))).toEqual({ maxWorlds: 9, maxApiKeys: 6 })
  await expect(inTransaction((tx) => lockLimits({ ...ctx, organizationId: 'org-none' }, tx))).rejects.toThrow()
})

test('an audit record is read as it was written', async () => {
  const record: AuditRow = {
    id: newId('audit'),
    createdAt: now,
    organizationId,
    projectId: '',
    door: 'rest',
    actorKind: 'key',
    actorId: 'key-1',
    action: 'startWorld',
    resources: ['a', '"b"'],
    fields: [],
    address: '192.0.2.1',
    requestId: '1',
  }
  await inTransaction((tx) => insertAuditRecord(tx, record))
  expect(await database.db.select().from(auditRecords)).toEqual([record])
})

test('a start adds its deployment once, and ends those of the same world that have no pod', async () => {
  const [world, other] = [await aWorld(), await aWorld()]
  const [first, ofOther] = [await start(world), await start(other)]
  const runId = newId('run')
  for (const at of [later, now]) await inTransaction((tx) => recordStart(tx, { ...world, runId }, at))
  expect(await readDeployment(first)).toMatchObject({ status: 'Stopped', endReason: 'Superseded', endedAt: later })
  expect(await readDeployment(ofOther)).toMatchObject({ status: 'Pending', endedAt: null })
  expect(await readDeployment(deploymentIdOfRun(runId))).toMatchObject({
    status: 'Pending',
    worldId: world.id,
    compute: { ...world.compute, clusterName: 'default' },
    image: null,
    startedAt: later,
  })
})

test('a stop ends the deployments of its world that have no pod', async () => {
  const [world, other] = [await aWorld(), await aWorld()]
  const [seen, unseen, ofOther] = [await start(world), await start(world), await start(other)]
  await database.db.update(deployments).set({ status: 'Pending', externalId: '', endedAt: null, endReason: null })
  await database.db.update(deployments).set({ externalId: 'pod' }).where(eq(deployments.id, seen))
  await inTransaction((tx) => endUnseen(tx, world.id, later))
  expect(await readDeployment(unseen)).toMatchObject({ status: 'Stopped', endReason: 'Stopped', endedAt: later })
  for (const id of [seen, ofOther]) expect(await readDeployment(id)).toMatchObject({ status: 'Pending', endedAt: null })
})

test('what runs is summed over the open deployments of an organization, without those of one world', async () => {
  const [world, other, third] = [await aWorld(), await aWorld(), await aWorld()]
  const strategies = { [await start(world)]: 'LoadBalancer', [await start(other)]: 'NodePort' } as const
  for (const [id, strategy] of Object.entries(strategies))
    await database.db.update(deployments).set({ strategy, capacity: 10 }).where(eq(deployments.id, id))
  const ended = await start(third)
  await database.db.update(deployments).set({ status: 'Error' }).where(eq(deployments.id, ended))
  expect(await sumRunning(database.db, { organizationId })).toEqual({ capacity: 20, nodePorts: 4, loadBalancers: 1 })
  expect(await sumRunning(database.db, { organizationId, exceptId: world.id })).toEqual({
    capacity: 10,
    nodePorts: 2,
    loadBalancers: 0,
  })
  expect(await sumRunning(database.db, { organizationId: 'org-none' })).toEqual({
    capacity: 0,
    nodePorts: 0,
    loadBalancers: 0,
  })
})

/** Records that the operator reports this deployment of a world. */
const report = async (world: WorldRow, deployment: WorldDeploymentStatus, run: object = {}): Promise<void> => {
  const runId = deployment.id.replace('dep-', 'run-')
  const captured = {
    id: runId,
    image: 'server:1',
    profile: 'Capacity30',
    capacity: 4,
    probes: true,
    args: [],
    ports: defaultPorts,
    strategy: 'Default',
  }
  const status = worldStatusSchema.parse({
    run: { ...world.runtime, ...captured, startedAt: now.toISOString(), restarts: 0, ...run },
  })
  const live: World = {
    apiVersion: 'orrery.dev/v1alpha1',
    kind: 'World',
    metadata: { name: world.id },
    spec: worldSpecSchema.parse({ displayName: 'Lobby' }),
    status,
  }
  await inTransaction((tx) => recordDeployments(tx, world, live, [deployment]))
}

test('a report completes its deployment and ends older open ones of the world; one that says nothing new changes nothing', async () => {
  const [world, other] = [await aWorld(), await aWorld()]
  const [older, ofOther, id] = [await start(world), await start(other), await start(world)]
  await database.db.update(deployments).set({ externalId: 'old', status: 'Running', endedAt: null, endReason: null })
  const reported = { id, externalId: 'pod', status: 'Running', createdAt: now.toISOString() } as const
  await report(world, reported)
  const written = await readDeployment(id)
  expect(written).toMatchObject({ externalId: 'pod', status: 'Running', image: 'server:1', endedAt: null })
  expect(await readDeployment(older)).toMatchObject({ status: 'Stopped', endReason: 'Superseded' })
  expect(await readDeployment(ofOther)).toMatchObject({ status: 'Running', endedAt: null })

  await report(world, reported)
  expect(await readDeployment(id)).toEqual(written)
  await report(world, reported, { exitCode: 3, restarts: 2 })
  expect(await readDeployment(id)).toEqual({ ...written, exitCode: 3, restarts: 2, updatedAt: expect.any(Date) })
  // The id derives from a run id that kubectl can set.
  const stolen = await readDeployment(ofOther)
  await report(world, { ...reported, id: ofOther })
  expect(await readDeployment(ofOther)).toEqual(stolen)
})

test('the end of a run is recorded once, and an exit code may follow once', async () => {
  const world = await aWorld()
  const id = await start(world)
  const reported = { id, externalId: 'pod', status: 'Stopped', createdAt: now.toISOString() } as const
  const end = { endedAt: now.toISOString(), endReason: 'Completed' }
  await report(world, reported, end)
  await report(world, reported, { endedAt: later.toISOString(), endReason: 'Stopped', exitCode: 0 })
  await report(world, reported, { ...end, exitCode: 137 })
  expect(await readDeployment(id)).toMatchObject({ endedAt: now, endReason: 'Completed', exitCode: 0 })
})

test('an earlier end that the operator reports replaces a stop that the API recorded, once', async () => {
  const world = await aWorld()
  const id = await start(world)
  await inTransaction((tx) => endUnseen(tx, world.id, later))
  const reported = { id, externalId: 'pod', status: 'Error', createdAt: now.toISOString() } as const
  const end = { endedAt: now.toISOString(), endReason: 'RestartBudget' }
  await report(world, reported, end)
  expect(await readDeployment(id)).toMatchObject({ endedAt: now, endReason: 'RestartBudget' })
  await report(world, reported, { endedAt: new Date(0).toISOString(), endReason: 'Expired' })
  expect(await readDeployment(id)).toMatchObject({ endedAt: now, endReason: 'RestartBudget' })
})

test('the search for due actions reads what is due, however many schedules wait', async () => {
  const { db } = database
  await db.delete(worlds)
  const due = { what: 'start', at: '2026-11-27T06:00:00.000Z' } as const
  const { id } = await aWorld({ nextAction: due, runtime: {} as WorldRow['runtime'] })
  await inSession(url, async (session) => {
    const { rows } = await session.query<{ column_name: string }>(
      `select column_name from information_schema.columns where table_name = 'worlds' and column_name not in ('id', 'next_action', 'deleting_at')`,
    )
    const others = rows.map(({ column_name: name }) => name).join(', ')
    const copy = (prefix: string, count: number, at: string, deletingAt: string) =>
      session.query(
        `insert into worlds (id, next_action, deleting_at, ${others})
         select $1 || n, jsonb_build_object('what', 'start', 'at', $2::text), ${deletingAt}, ${others}
         from worlds, generate_series(1, $3) n where id = $4`,
        [prefix, at, count, id],
      )
    await copy('waiting-', 10_000, '2027-01-01T00:00:00.000Z', 'null')
    await copy('deleted-', 1_000, due.at, 'now()')
    await session.query('analyze worlds')
    // Each plan that Postgres may choose for a prepared statement.
    for (const mode of ['force_custom_plan', 'force_generic_plan']) {
      await session.query(`set plan_cache_mode = ${mode}`)
      let plan = ''
      const query = async ({ text }: { text: string }, values: unknown[]) => {
        await session.query(`prepare search as ${text}`)
        const literals = values.map((value) =>
          Array.isArray(value) ? `array[]::text[]` : session.escapeLiteral(String(value)),
        )
        const explained = await session.query<Record<string, string>>(
          `explain (analyze, costs off, timing off) execute search(${literals.join(', ')})`,
        )
        plan = explained.rows.map((row) => row['QUERY PLAN']).join('\n')
        await session.query('deallocate search')
        return { rows: [] }
      }
      const deps = { db: { $client: { query } }, clock: { now: () => later.getTime() }, cluster: 'default' }
      await createScheduler(deps as unknown as SchedulerDeps)(new AbortController().signal)
      expect(plan, mode).toContain('worlds_next_action_at_index')
      expect(plan, mode).not.toMatch(/actual rows=\d\d/)
      expect(plan, mode).not.toMatch(/Rows Removed by (Filter|Index Recheck): [1-9]\d\d/)
    }
  })
})
